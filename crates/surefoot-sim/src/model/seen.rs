//! What happened while the model was explored. A model in which little goes wrong proves little.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count that every thread of a run adds to.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Steps by kind, over all states that were explored.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) calls: Count,
    pub(super) given_up: Count,
    pub(super) landed_late: Count,
    pub(super) fenced_itself: Count,
    pub(super) asked: Count,
    pub(super) early_words: Count,
    pub(super) witnessed: Count,
    pub(super) reaped: Count,
    pub(super) settled: Count,
    pub(super) zombie_writes: Count,
}

impl Seen {
    pub(super) fn lines(&self) -> [(&'static str, u64); 10] {
        [
            ("calls", self.calls.get()),
            ("calls given up", self.given_up.get()),
            ("calls that landed after that", self.landed_late.get()),
            ("calls held back by the lease", self.fenced_itself.get()),
            ("questions", self.asked.get()),
            ("\"did not happen\" said too early", self.early_words.get()),
            ("webhooks that counted", self.witnessed.get()),
            ("leases found lost", self.reaped.get()),
            ("settlements", self.settled.get()),
            ("writes under a lost lease", self.zombie_writes.get()),
        ]
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in self.lines() {
            write!(f, "\n  {count:>12}  {what}")?;
        }
        Ok(())
    }
}
