//! `surefoot-bench`: figures about Surefoot, each beside what the same database does without it.
//!
//! - `surefoot-bench [sqlite|postgres|all] [--quick]` prints one table. Every row stands beside its own floor, raw
//!   statements on the same server or file, measured in the same run in turn with it.
//! - `surefoot-bench soak` runs a million jobs, then idles, and fails when memory grows or an idle engine computes.
//!
//! PostgreSQL is found in `SUREFOOT_TEST_POSTGRES`; `scripts/with-postgres` sets it. It measures what users get: the
//! real engine over the real stores through their public doors. It must never change how they work.

mod args;
mod door;
mod floor;
mod host;
mod jobs;
mod measure;
mod place;
mod rounds;
mod runner;
mod soak;
mod table;

use std::process::ExitCode;

/// What can go wrong here is told to a person and ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    let command = match args::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    let outcome = match command {
        args::Command::Measure(wanted) => measure::run(&wanted).await,
        args::Command::Soak(wanted) => soak::run(&wanted).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("surefoot-bench: failed: {}", told(&*error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    std::iter::once(error)
        .chain(causes)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
