//! The arguments. What is not understood is told with the usage.

use std::collections::BTreeSet;

pub(crate) const USAGE: &str = "\
surefoot-sim model [--small]                  explores claims, leases and effects exhaustively, with fewer faults
surefoot-sim --seeds COUNT [--from SEED] [--brief]
                                              runs so many worlds on two threads, and fails where an invariant does not
                                              hold, or too little went wrong; brief: failing worlds are not made small
surefoot-sim --seed SEED [--without N,N,..] [--trace]
                                              runs one world, without the things of these numbers";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Model {
        small: bool,
    },
    Many {
        seeds: u64,
        from: u64,
        brief: bool,
    },
    One {
        seed: u64,
        without: BTreeSet<usize>,
        trace: bool,
    },
}

/// Reads the arguments; an error is the usage.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let (mut seeds, mut from, mut seed) = (None, 0, None);
    let (mut trace, mut brief) = (false, false);
    let mut without = BTreeSet::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "model" => {
                let small = args.next().is_some_and(|arg| arg == "--small");
                return Ok(Command::Model { small });
            }
            "--seeds" => seeds = Some(number(args.next())?),
            "--from" => from = number(args.next())?,
            "--seed" => seed = Some(number(args.next())?),
            "--trace" => trace = true,
            "--brief" => brief = true,
            "--without" => {
                for text in args.next().unwrap_or_default().split(',') {
                    without.insert(number(Some(text.to_owned()))?);
                }
            }
            _ => return Err(format!("{arg} is not known\n{USAGE}")),
        }
    }
    match (seed, seeds) {
        (Some(seed), None) => Ok(Command::One {
            seed,
            without,
            trace,
        }),
        (None, Some(seeds)) => Ok(Command::Many { seeds, from, brief }),
        (Some(_), Some(_)) | (None, None) => Err(USAGE.to_owned()),
    }
}

fn number<T: std::str::FromStr>(text: Option<String>) -> Result<T, String> {
    let text = text.unwrap_or_default();
    text.parse()
        .map_err(|_| format!("{text:?} is no number\n{USAGE}"))
}
