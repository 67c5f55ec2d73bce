//! `kill -9` at random moments, round after round, with a provider that applies every call and drops one answer in five.
//!
//! Each round hands in intents while a node is killed and started again. In the end the provider's books are compared with
//! what Surefoot says of each intent. The same seed gives the same schedule: which intents, which node, when, and what
//! becomes of each answer. What the processes make of it differs from run to run, and that is the point.

mod report;
mod run;
mod schedule;

use std::path::PathBuf;

pub use report::{ChaosReport, RecoveryReport};
pub use run::run;

/// The most rounds of one run.
pub const ROUNDS_MAX: usize = 10_000;
/// The most nodes of one run.
pub const NODES_MAX: usize = 16;

/// What to do.
#[derive(Clone, Debug)]
pub struct ChaosOptions {
    /// The binary `surefoot`.
    pub program: PathBuf,
    /// What everything random is drawn from.
    pub seed: u64,
    /// How often a node is killed, 1 to [`ROUNDS_MAX`].
    pub rounds: usize,
    /// How many nodes there are, 1 to [`NODES_MAX`].
    pub nodes: usize,
    /// The URL of an empty PostgreSQL database; `None` is a temporary SQLite file.
    pub postgres: Option<String>,
}
