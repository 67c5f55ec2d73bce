//! Tells the refund stories one after the other: `cargo run -p refund`. It ends with exit code 1 when a customer was paid
//! twice or not at all. `cargo run -p refund check` says what is to be known before; it ends with 1 when a fault is left.
//! `cargo run -p refund pay REFUND PAYMENT CENTS` carries out one refund, with `REFUND_DATABASE` and `REFUND_PROVIDER` from the
//! environment; killed at any point and started again, it pays once.

use std::process::ExitCode;

use refund::Fault;
use refund::psp::calls;
use refund::refund::{Provider, Refund, checklist};
use refund::stories::{self, Told};
use refund::till;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("refund: {fault}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<bool, Fault> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => tell().await,
        ["check"] => {
            let reviewed = checklist(Provider::Answers, &calls())?.review();
            println!("{reviewed}");
            Ok(reviewed.is_green())
        }
        ["pay", refund_id, payment, cents] => {
            let job = Refund {
                refund_id: refund_id.to_owned(),
                payment: payment.to_owned(),
                cents: cents.parse()?,
            };
            let (database, psp) = (setting("REFUND_DATABASE")?, setting("REFUND_PROVIDER")?);
            till::pay(&database, &psp, job).await?;
            Ok(true)
        }
        _ => Err("say check, pay REFUND PAYMENT CENTS, or nothing for the stories".into()),
    }
}

fn setting(name: &str) -> Result<String, Fault> {
    std::env::var(name).map_err(|_| format!("{name} is not set").into())
}

async fn tell() -> Result<bool, Fault> {
    let mut once = true;
    println!(
        "{:<32} {:>5} {:>5}  what the user saw",
        "story", "calls", "paid"
    );
    for told in [
        stories::paid_and_silent().await?,
        stories::never_paid().await?,
        stories::paid_late().await?,
        stories::webhook_first().await?,
        stories::a_person_decides().await?,
        stories::edited().await?,
        stories::replayed_after_the_key_is_forgotten().await?,
    ] {
        let Told {
            story,
            states,
            calls,
            paid,
            ..
        } = &told;
        println!("{story:<32} {calls:>5} {paid:>5}  {}", states.join(" > "));
        once &= *paid == 1;
    }
    Ok(once)
}
