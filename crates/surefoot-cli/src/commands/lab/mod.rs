//! `lab`: small experiments that show what policies do.

mod experiments;

use crate::args::LabCommand;
use crate::exit::Failed;
use crate::output::Output;
use experiments::{amplification, breaker, jitter};

pub(super) fn run(command: LabCommand, output: Output) -> Result<(), Failed> {
    match command {
        LabCommand::Amplification(args) => amplification::run(&args, output),
        LabCommand::Jitter(args) => jitter::run(&args, output),
        LabCommand::Breaker(args) => breaker::run(&args, output),
    }
}
