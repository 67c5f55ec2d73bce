//! Whether the loops still turn, for a readiness probe: a node that lost its database must say so by itself.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How the loops of a node are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// How long ago the store last answered a claim or a poll.
    pub claimed: Duration,
    /// How long ago the store last answered a heartbeat.
    pub beat: Duration,
    /// How many attempts run at present.
    pub running: usize,
    /// Whether the node drains or has drained.
    pub draining: bool,
}

impl Health {
    /// Within which time both loops answer on a sound node at default intervals.
    pub const AGE_MAX: Duration = Duration::from_secs(30);

    /// Whether the node takes work: it does not drain, and both loops were answered within [`AGE_MAX`](Self::AGE_MAX).
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.draining && self.claimed <= Self::AGE_MAX && self.beat <= Self::AGE_MAX
    }
}

/// When something last went well.
#[derive(Debug)]
pub(crate) struct LastTime(Mutex<Instant>);

impl LastTime {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(crate) fn is_now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn age(&self) -> Duration {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}
