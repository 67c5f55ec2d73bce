//! `surefoot-sim model` explores the protocol exhaustively, prints how many states there are, and fails where an
//! invariant does not hold.

use std::process::ExitCode;
use std::time::Instant;

use surefoot_sim::model::{Setup, explore};

const USAGE: &str = "surefoot-sim model    explores claims, leases and effects exhaustively";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("model") => model(),
        Some(_) | None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn model() -> ExitCode {
    let mut sound = true;
    for (name, setup) in Setup::all() {
        let begun = Instant::now();
        match explore(&setup) {
            Ok(explored) => {
                println!("{name}: {explored}\n  in {:.1?}", begun.elapsed());
                sound &= explored.violations.is_empty();
            }
            Err(error) => {
                println!("{name}: {error}");
                sound = false;
            }
        }
    }
    if sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
