//! Keeps a clock with that of the store. It never holds the clock, so that the clock's last holder ends it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use surefoot_core::port::Store;
use tokio::time::{Instant, sleep};

use super::NodeClock;
use crate::bounded::within;

/// How often: a monotonic clock that is off by one part in a thousand drifts by 10 ms in between.
const EVERY: Duration = Duration::from_secs(10);

/// Runs until it is aborted or the clock is gone.
pub(super) async fn run(store: Arc<dyn Store>, clock: Weak<NodeClock>, store_timeout: Duration) {
    loop {
        sleep(EVERY).await;
        let asked = Instant::now();
        let read = within(store_timeout, store.database_now()).await;
        let answered = Instant::now();
        let Some(clock) = clock.upgrade() else {
            return;
        };
        match read {
            Ok(database) => clock.set(database, asked, answered),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the clock of the store was not read"
            ),
        }
    }
}
