//! `surefoot-sim`: the model and the seeded worlds from the command line. See [`args::USAGE`].

mod args;
mod many;

use std::process::ExitCode;
use std::time::Instant;

use args::Command;
use surefoot_sim::model::{Setup, explore};

fn main() -> ExitCode {
    let command = match args::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    // Handlers of the worlds panic on purpose; the engine catches that.
    std::panic::set_hook(Box::new(|_| {}));
    let sound = match command {
        Command::Model { small } => Ok(model(small)),
        Command::Many { seeds, from, brief } => many::run(seeds, from, brief),
        Command::One {
            seed,
            without,
            trace,
        } => many::one(seed, &without, trace),
    };
    match sound {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("surefoot-sim: failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Explores every setup; answers whether every invariant holds.
fn model(small: bool) -> bool {
    let mut sound = true;
    for (name, setup) in Setup::all() {
        let begun = Instant::now();
        let setup = if small { setup.small() } else { setup };
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
    sound
}
