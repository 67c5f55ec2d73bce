//! What the database does without Surefoot: raw statements on rows of the same width, on the same disk or server, with
//! the same durability. This is the only code outside surefoot-store that holds SQL, because it measures the database
//! itself; it must never touch Surefoot's tables.

pub(crate) mod postgres;
pub(crate) mod request;
pub(crate) mod server;
pub(crate) mod sqlite;

use std::time::Duration;

use async_trait::async_trait;

use crate::Outcome;
use crate::rounds::Latencies;

/// A database without Surefoot. Each measurement begins on an empty table.
#[async_trait]
pub(crate) trait Floor: Send + Sync {
    /// Rows per second of one committed INSERT each, by so many tasks at once.
    async fn insert_single(&self, tasks: usize, lasts: Duration) -> Outcome<f64>;

    /// Rows per second of batches, each of which is one commit.
    async fn insert_batches(&self, batch: usize, rows: usize) -> Outcome<f64>;

    /// Rows per second of one loop that marks a batch as running, commits, deletes it, commits.
    async fn claim_and_delete(&self, batch: usize, rows: usize) -> Outcome<f64>;

    /// How soon a worker that waits to be told has a row claimed.
    async fn pick_up(&self, told: Told, samples: usize) -> Outcome<PickUp>;
}

/// How a worker hears of new work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// By a signal inside the process.
    InProcess,
    /// By the database, where it can; else inside the process.
    ByDatabase,
}

/// How soon work was picked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct PickUp {
    /// From the call that handed it in.
    pub(crate) from_call: Latencies,
    /// From the answer to that call; nothing where the work began before the answer.
    pub(crate) from_answer: Latencies,
}

impl PickUp {
    pub(crate) fn extend(&mut self, other: Self) {
        self.from_call.extend(other.from_call);
        self.from_answer.extend(other.from_answer);
    }
}
