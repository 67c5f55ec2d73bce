//! `lab`: breaks real processes on purpose and counts what came of it, and shows by small experiments what policies do.

mod chaos;
mod experiments;
mod faults;

use std::future::Future;
use std::path::PathBuf;

use surefoot_lab::LabError;
use surefoot_lab::plain::{self, WorkerOptions};

use super::signals::Signals;
use crate::args::LabCommand;
use crate::exit::{Code, Failed};
use crate::output::{self, Output};
use experiments::{amplification, breaker, jitter};

pub(super) async fn run(command: LabCommand, output: Output) -> Result<(), Failed> {
    match command {
        LabCommand::Faults(args) => faults::run(&args, output).await,
        LabCommand::Chaos(args) => chaos::run(&args, output).await,
        LabCommand::PlainWorker(args) => {
            let options = WorkerOptions {
                rows: args.rows,
                provider: args.provider,
            };
            // Whoever started it waits for a line.
            output::write_line("ready")?;
            Ok(plain::work(options).await?)
        }
        LabCommand::Amplification(args) => amplification::run(&args, output),
        LabCommand::Jitter(args) => jitter::run(&args, output),
        LabCommand::Breaker(args) => breaker::run(&args, output),
    }
}

/// This binary.
fn program() -> Result<PathBuf, Failed> {
    Ok(std::env::current_exe()?)
}

/// Runs until the end or a signal; what was started is ended then.
async fn stoppable<T>(measures: impl Future<Output = Result<T, LabError>>) -> Result<T, Failed> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = measures => Ok(done?),
        () = signals.next() => Err(Failed::new(Code::Stopped, "stopped by a signal", "")),
    }
}
