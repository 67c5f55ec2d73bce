//! Seeded worlds: the real engine, the real front door and real relays over the store in memory, in virtual time, where
//! everything goes wrong that can.
//!
//! Each process of a world is a runtime of its own whose clock is paused, so that it can be frozen while the others go on,
//! can be killed at any await, and has a clock of its own rate. Every choice comes from the seed. Nothing here may know how
//! the engine works: it acts through its public doors and judges by what the store and the provider have on record.

mod check;
mod dice;
mod gate;
mod handler;
mod life;
mod log;
mod messages;
mod node;
mod people;
mod plan;
mod provider;
mod requests;
mod run;
mod shrink;
mod slot;
mod tally;
mod time;
mod told;
mod watch;

pub use run::{Limits, Ran};
pub use tally::Tally;

use std::collections::BTreeSet;

use plan::Plan;

/// Runs the world of a seed, without the things of these numbers.
///
/// # Errors
/// The operating system gave no runtime.
pub fn world(
    seed: u64,
    without: &BTreeSet<usize>,
    limits: Limits,
    keep_lines: bool,
) -> std::io::Result<Ran> {
    let jobs = run::run(Plan::draw(seed, without), limits, keep_lines)?;
    let requests = requests::run(requests::Plan::draw(seed, without), keep_lines)?;
    let messages = messages::run(messages::Plan::draw(seed, without), keep_lines)?;
    Ok(jobs.and(requests).and(messages))
}

/// What the world of a seed is made of, in words.
#[must_use]
pub fn described(seed: u64, without: &BTreeSet<usize>) -> String {
    format!(
        "{}\n{}\n{}",
        Plan::draw(seed, without),
        requests::Plan::draw(seed, without),
        messages::Plan::draw(seed, without)
    )
}

/// What can be left out of a failing world, so that it still fails in the same way.
///
/// # Errors
/// The operating system gave no runtime.
pub fn shrunk(seed: u64, limits: Limits, broken: &Ran) -> std::io::Result<BTreeSet<usize>> {
    shrink::shrink(seed, limits, broken)
}
