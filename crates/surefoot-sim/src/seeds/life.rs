//! One life of a process: a runtime of its own whose clock is paused, a gate that stops it at its store, and a store that goes
//! wrong. What runs in it is the matter of whoever begins it.

use std::time::Duration;

use surefoot_core::time::Timestamp;
use surefoot_testkit::{FaultRates, FaultyStore};
use tokio::runtime::{Builder, Runtime};

use super::gate::Gate;
use super::log::Log;
use super::time::{Anchor, WorldTime};

/// See the module. Dropped, its tasks are dropped where they stand.
pub(super) struct Life {
    runtime: Runtime,
    anchor: Anchor,
    pub(super) gate: Gate,
    pub(super) faults: FaultyStore,
}

impl Life {
    /// A life that begins at `now`, over a store behind its gate. `rate` is how fast its clock runs.
    pub(super) fn begin(
        log: &Log,
        rate: f64,
        now: Timestamp,
        store: impl FnOnce(&Gate) -> FaultyStore,
    ) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        let anchor = runtime.block_on(async { Anchor::here(now, rate) });
        let gate = Gate::new(log.clone());
        let faults = store(&gate);
        Ok(Self {
            runtime,
            anchor,
            gate,
            faults,
        })
    }

    /// Lets it run until `until`. Where it stood still, its clock jumps first, as that of a frozen process does.
    pub(super) fn run(&self, time: &WorldTime, thaws_at: Option<Timestamp>, until: Timestamp) {
        time.follow(self.anchor);
        self.runtime.block_on(async {
            if let Some(now) = thaws_at {
                let gap = self
                    .anchor
                    .instant_at(now)
                    .saturating_duration_since(tokio::time::Instant::now());
                tokio::time::advance(gap).await;
            }
            tokio::time::sleep_until(self.anchor.instant_at(until)).await;
        });
        time.set(until);
    }

    /// Starts something that goes on in this life.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// From here on its store goes wrong this often.
    pub(super) fn store_trouble(&self, rate: f64) {
        self.faults.misbehave(FaultRates {
            before: rate * 0.3,
            after: rate * 0.3,
            delay: rate * 0.2,
            late: rate * 0.2,
            delay_max: Duration::from_secs(4),
        });
    }
}
