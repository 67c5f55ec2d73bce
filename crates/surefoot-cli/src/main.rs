//! The binary `surefoot`: it reads its arguments, hands over to a command, and tells how that went. It must never do
//! anything else.

mod args;
mod commands;
mod config;
mod exit;
mod http_kind;
mod output;
mod telemetry;

use std::process::ExitCode;

use clap::Parser;

use exit::Failed;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused)
            if refused.use_stderr() && std::env::args().any(|argument| argument == "--json") =>
        {
            return Failed::from(refused).tell(true);
        }
        // Help, the version, or a refusal for people: clap prints it, with its hints, and ends with 0 or 2.
        Err(other) => other.exit(),
    };
    let as_json = cli.shared.json;
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => failed.tell(as_json),
    }
}

fn run(cli: args::Cli) -> Result<(), Failed> {
    http_kind::choose_tls();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(commands::run(cli));
    runtime.shutdown_background();
    done
}
