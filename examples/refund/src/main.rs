//! Tells the refund stories one after the other: `cargo run -p refund`. It ends with exit code 1 when a customer was paid
//! twice or not at all. `cargo run -p refund check` says what is to be known before; it ends with 1 when a fault is left.

use std::process::ExitCode;

use refund::refund::Provider;
use refund::stories::{self, Told};

#[tokio::main]
async fn main() -> ExitCode {
    match tell().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("refund: {fault}");
            ExitCode::FAILURE
        }
    }
}

async fn tell() -> Result<bool, refund::Fault> {
    if std::env::args().nth(1).as_deref() == Some("check") {
        let list = refund::refund::checklist(Provider::Answers, &stories::calls())?;
        let reviewed = list.review();
        println!("{reviewed}");
        return Ok(reviewed.is_green());
    }
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
