//! Clocks for tests: one that stands until it is moved, one that follows the runtime's clock, paused or not.
//! Neither reads the time of day.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use surefoot_core::time::{Clock, Timestamp};
use tokio::time::Instant;

/// A clock that stands still until a test moves it. It is never moved back: a [`Clock`] does not run backwards.
#[derive(Debug)]
pub struct ManualClock {
    micros: AtomicI64,
}

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self {
            micros: AtomicI64::new(now.as_micros()),
        }
    }

    /// Moves it to `now`, unless it is later already.
    pub fn set(&self, now: Timestamp) {
        self.micros.fetch_max(now.as_micros(), Ordering::SeqCst);
    }

    /// Moves it on by `step`, and answers the new time.
    pub fn advance(&self, step: Duration) -> Timestamp {
        self.set(self.now().after(step));
        self.now()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.micros.load(Ordering::SeqCst))
    }
}

/// A clock that runs with the runtime's timers, so that it stands and jumps where tokio's clock is paused.
#[derive(Debug)]
pub struct TokioClock {
    base: Timestamp,
    started: Instant,
}

impl TokioClock {
    /// A clock that shows `base` at the moment of this call. It is made inside the runtime that it follows.
    #[must_use]
    pub fn starting_at(base: Timestamp) -> Self {
        Self {
            base,
            started: Instant::now(),
        }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        self.base.after(self.started.elapsed())
    }
}
