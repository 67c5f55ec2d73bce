//! `ai-judge` serves; settings come from the environment.

use std::process::ExitCode;

use ai_judge::{Fault, service, settings::Settings};

#[tokio::main]
async fn main() -> ExitCode {
    match start().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("ai-judge: {fault}");
            ExitCode::FAILURE
        }
    }
}

async fn start() -> Result<(), Fault> {
    let settings = Settings::read()?;
    match std::env::args().nth(1).as_deref() {
        None => service::run(settings).await,
        Some(other) => Err(format!("there is no {other}; say nothing to serve").into()),
    }
}
