//! Keeps the clock of a relay with that of the store. Two relays whose clocks drift apart would take one another's leases for
//! over.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::port::Store;
use tokio::time::{Instant, sleep};

use crate::bounded::within;
use crate::clock::NodeClock;

/// How often: a monotonic clock that is off by one part in a thousand drifts by 10 ms in between.
const EVERY: Duration = Duration::from_secs(10);

pub(super) struct Timekeeper {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<NodeClock>,
    pub(super) store_timeout: Duration,
}

impl Timekeeper {
    /// Runs until it is stopped.
    pub(super) async fn run(self) {
        loop {
            sleep(EVERY).await;
            let asked = Instant::now();
            match within(self.store_timeout, self.store.database_now()).await {
                Ok(database) => self.clock.set(database, asked, Instant::now()),
                Err(error) => tracing::warn!(%error, "the clock of the store was not read"),
            }
        }
    }
}
