//! Extends the leases of what runs here, tells handlers that their lease is lost or their job cancelled, and keeps the
//! node's clock. It runs on a thread, a runtime and a connection of its own, so that neither a handler that blocks the
//! main runtime nor an exhausted pool stops it. It never decides what becomes of a job.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, Extended, Extension, Heart};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::node::Node;
use crate::bounded::within;
use crate::cx::CancelCause;
use crate::dice::Rest;
use crate::observe::Event;
use crate::running::Running;

/// The longest time between two beats while something runs: so soon is a handler told that its job was cancelled.
const BEAT_MAX: Duration = Duration::from_secs(5);
/// The time between two beats while nothing runs; they keep the clock and show that the store answers.
const BEAT_IDLE: Duration = Duration::from_secs(15);
/// A lease is extended this many times before it would end.
const BEATS_PER_LEASE: u32 = 3;
/// A round trip that took longer says too little about the database's clock.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Heartbeat {
    node: Arc<Node>,
    stop: CancellationToken,
    every: Duration,
    limit: Duration,
    beat_at: Option<Instant>,
}

impl Heartbeat {
    pub(super) fn new(node: Arc<Node>, stop: CancellationToken) -> Self {
        let lease = node.lease_min().unwrap_or(BEAT_IDLE);
        let every = (lease / BEATS_PER_LEASE).min(BEAT_MAX);
        let limit = node.options.store_timeout.min(lease / 2);
        Self {
            node,
            stop,
            every,
            limit,
            beat_at: None,
        }
    }

    /// Runs on a thread of its own.
    pub(super) fn spawn_thread(self) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("surefoot-heartbeat".to_owned())
            .spawn(move || runtime.block_on(self.run()))?;
        Ok(())
    }

    /// Runs until it is stopped.
    pub(super) async fn run(mut self) {
        let stop = self.stop.clone();
        stop.run_until_cancelled(self.beat_on()).await;
    }

    async fn beat_on(&mut self) {
        let mut heart: Option<Box<dyn Heart>> = None;
        let mut rest = Rest::new();
        loop {
            match self.round(&mut heart).await {
                Ok(()) => {
                    rest.reset();
                    sleep(self.every).await;
                }
                Err(error) => {
                    heart = None;
                    let pause = rest.after_failure(self.node.client.dice()).min(self.every);
                    tracing::warn!(%error, ?pause, "the heartbeat failed, connecting again");
                    sleep(pause).await;
                }
            }
        }
    }

    /// One round; it asks the store only where something runs or the clock is due.
    async fn round(&mut self, heart: &mut Option<Box<dyn Heart>>) -> Result<(), StoreError> {
        let held = self.held();
        let idle = self
            .beat_at
            .is_some_and(|last| last.elapsed() + self.every / 2 < BEAT_IDLE);
        if held.is_empty() && idle {
            return Ok(());
        }
        let heart = match heart {
            Some(heart) => heart,
            None => heart.insert(self.node.client.store().heart().await?),
        };
        let mut batches: Vec<&[Arc<Running>]> = held.chunks(BATCH_MAX).collect();
        if batches.is_empty() {
            batches.push(&[]);
        }
        for batch in batches {
            self.beat(&mut **heart, batch).await?;
        }
        self.beat_at = Some(Instant::now());
        self.node.beat.is_now();
        Ok(())
    }

    /// What runs here and whose lease is still to be extended; the others are given up.
    fn held(&self) -> Vec<Arc<Running>> {
        let now = Instant::now();
        let mut all = self.node.client.local().running.all();
        all.retain(|running| {
            let stuck = running.hold_until <= now && !running.is_settling();
            if stuck && running.abandon() {
                self.tell_abandoned(running);
            }
            !running.is_abandoned()
        });
        all
    }

    async fn beat(&self, heart: &mut dyn Heart, held: &[Arc<Running>]) -> Result<(), StoreError> {
        let now = self.node.client.now();
        let extension = |running: &Arc<Running>| Extension {
            job: running.job,
            epoch: running.epoch,
            until: now.after(running.lease),
        };
        let leases: Vec<Extension> = held.iter().map(extension).collect();
        let asked = Instant::now();
        let beat = within(self.limit, heart.beat(&leases, now))
            .await
            .inspect_err(|error| {
                self.node.client.observer().on(&Event::StoreError {
                    verb: "beat",
                    error,
                });
            })?;
        if asked.elapsed() <= ROUND_TRIP_MAX {
            self.node
                .clock
                .set(beat.database_now, asked, Instant::now());
        }
        for (running, extended) in held.iter().zip(beat.extended) {
            self.tell(running, extended);
        }
        Ok(())
    }

    fn tell(&self, running: &Running, extended: Extended) {
        match extended {
            Extended::Held {
                cancel_requested: true,
                ..
            } => running.cancel(CancelCause::Requested),
            Extended::Held {
                cancel_requested: false,
                ..
            } => {}
            // What is being settled is gone from the store as soon as that is done.
            Extended::Lost if running.is_settling() => {}
            Extended::Lost => {
                if running.abandon() {
                    let (job, kind, epoch) = (running.job, &running.kind, running.epoch);
                    tracing::warn!(%job, %kind, %epoch, "the lease was lost");
                    self.node
                        .client
                        .observer()
                        .on(&Event::LeaseLost { job, kind, epoch });
                }
                running.cancel(CancelCause::LeaseLost);
            }
        }
    }

    fn tell_abandoned(&self, running: &Running) {
        let (job, kind, epoch) = (running.job, &running.kind, running.epoch);
        tracing::error!(%job, %kind, %epoch, "the handler cannot be stopped, its lease is given up");
        self.node
            .client
            .observer()
            .on(&Event::Abandoned { job, kind, epoch });
    }
}
