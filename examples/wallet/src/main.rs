//! `wallet` serves, `wallet check` says what is to be known before.

use std::process::ExitCode;

use wallet::{Fault, movement, service};

#[tokio::main]
async fn main() -> ExitCode {
    match start().await {
        Ok(code) => code,
        Err(fault) => {
            eprintln!("wallet: {fault}");
            ExitCode::FAILURE
        }
    }
}

async fn start() -> Result<ExitCode, Fault> {
    match std::env::args().nth(1).as_deref() {
        None => service::run().await.map(|()| ExitCode::SUCCESS),
        Some("check") => {
            let reviewed = movement::checklist()?.review();
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
