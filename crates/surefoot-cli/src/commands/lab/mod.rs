//! `lab`: breaks real processes on purpose and counts what came of it, shows by small experiments what policies do, and holds
//! five of them against the figures that must come out.

mod all;
mod chaos;
mod consumer;
mod contestants;
mod double_charge;
mod expected;
mod experiments;
mod faults;
mod grounds;
mod inbox;

use std::future::Future;
use std::path::PathBuf;

use surefoot_lab::LabError;
use surefoot_lab::plain::{self, WorkerOptions};

use super::signals::Signals;
use crate::args::{LabCommand, Shared};
use crate::exit::{Code, Failed};
use crate::output::{self, Output};
use experiments::{amplification, breaker, jitter};

pub(super) async fn run(
    shared: &Shared,
    command: LabCommand,
    output: Output,
) -> Result<(), Failed> {
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
        LabCommand::DoubleCharge => double_charge::run(shared, output).await,
        LabCommand::Consumer => consumer::run(shared, output).await,
        LabCommand::All => all::run(shared, output).await,
        LabCommand::PaymentService(args) => contestants::serve_payments(args).await,
        LabCommand::PointsConsumer(args) => contestants::consume(args).await,
        LabCommand::Amplification(args) => amplification::run(&args, output),
        LabCommand::Jitter(args) => jitter::run(&args, output),
        LabCommand::Breaker(args) => breaker::run(&args, output),
    }
}

/// This binary.
fn program() -> Result<PathBuf, Failed> {
    Ok(std::env::current_exe()?)
}

/// The arguments that make this binary one of the processes of the lab.
fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Runs until the end or a signal; what was started is ended then.
async fn stoppable<T>(measures: impl Future<Output = Result<T, LabError>>) -> Result<T, Failed> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = measures => Ok(done?),
        () = signals.next() => Err(Failed::new(Code::Stopped, "stopped by a signal", "")),
    }
}
