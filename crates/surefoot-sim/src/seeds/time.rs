//! The world's time, as every node's own clock tells it. Each node runs on a runtime of its own whose clock is paused: it
//! can stand while the world goes on, and it can run a little fast or slow.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot_core::time::{Clock, Timestamp};
use tokio::time::Instant;

/// When every world begins.
pub(super) const T0: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// How far the world goes in one turn of every node. Nodes see each other's writes up to this much early or late, which is
/// far below the margin that the core leaves.
pub(super) const WINDOW: Duration = Duration::from_millis(200);

/// The clock of the world. The database's clock is this plus the sum of its jumps.
#[derive(Clone, Debug)]
pub(super) struct WorldTime(Arc<Mutex<Now>>);

#[derive(Debug)]
struct Now {
    window: Timestamp,
    node: Option<Anchor>,
    jumped_micros: i64,
}

/// Where a node's own clock stood when it began, and how fast it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    began: Timestamp,
    instant: Instant,
    rate: f64,
}

impl Anchor {
    /// Made inside the node's runtime.
    pub(super) fn here(began: Timestamp, rate: f64) -> Self {
        Self {
            began,
            instant: Instant::now(),
            rate,
        }
    }

    /// The node's own clock at a time of the world.
    pub(super) fn instant_at(&self, time: Timestamp) -> Instant {
        self.instant + time.since(self.began).mul_f64(self.rate)
    }

    fn time(&self) -> Timestamp {
        let passed = Instant::now().saturating_duration_since(self.instant);
        self.began.after(passed.div_f64(self.rate))
    }
}

impl WorldTime {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Now {
            window: T0,
            node: None,
            jumped_micros: 0,
        })))
    }

    fn with<T>(&self, visit: impl FnOnce(&mut Now) -> T) -> T {
        visit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The world goes on to here; no node runs at the moment.
    pub(super) fn set(&self, window: Timestamp) {
        self.with(|now| {
            now.window = window;
            now.node = None;
        });
    }

    /// From here on the clock of this node, which is the one that runs, tells the time.
    pub(super) fn follow(&self, anchor: Anchor) {
        self.with(|now| now.node = Some(anchor));
    }

    /// The time of the world.
    pub(super) fn now(&self) -> Timestamp {
        self.with(|now| now.node.map_or(now.window, |node| node.time()))
    }

    /// The database's clock jumps.
    pub(super) fn jump(&self, micros: i64) {
        self.with(|now| now.jumped_micros += micros);
    }
}

impl Clock for WorldTime {
    fn now(&self) -> Timestamp {
        let jumped = self.with(|now| now.jumped_micros);
        Timestamp::from_micros(Self::now(self).as_micros() + jumped)
    }
}
