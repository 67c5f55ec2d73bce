//! `shop` serves, `shop check` says what is to be known before; settings come from the environment.

use std::process::ExitCode;

use shop::{Fault, service, settings::Settings};

#[tokio::main]
async fn main() -> ExitCode {
    match start().await {
        Ok(code) => code,
        Err(fault) => {
            eprintln!("shop: {fault}");
            ExitCode::FAILURE
        }
    }
}

async fn start() -> Result<ExitCode, Fault> {
    let settings = Settings::read()?;
    match std::env::args().nth(1).as_deref() {
        None => service::run(settings).await.map(|()| ExitCode::SUCCESS),
        Some("check") => {
            let reviewed = settings.checklist()?.review();
            println!("{reviewed}");
            Ok(if reviewed.is_green() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Some(other) => Err(format!("there is no {other}; say check, or nothing to serve").into()),
    }
}
