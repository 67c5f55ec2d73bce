//! The loop of one sink: it takes as many keys as it may deliver at once, and looks again when a key ends, when somebody woke
//! it, and when the poll is due.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::{SinkName, Worker};
use surefoot_core::message::DeliveryPolicy;
use surefoot_core::port::{Messages, TAKE_MAX, Take};
use surefoot_core::time::Clock;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::events::{Guarded, RelayEvent, RelayObserver};
use super::key::Held;
use super::sink::Sink;
use crate::bounded::within;
use crate::dice::{Dice, Rest};

/// What the loop of a sink and the deliveries of its keys share.
pub(super) struct Line {
    pub(super) messages: Arc<dyn Messages>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Arc<Guarded>,
    pub(super) dice: Arc<Dice>,
    pub(super) holder: Worker,
    pub(super) sink_name: SinkName,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) policy: DeliveryPolicy,
    pub(super) poll: Duration,
    pub(super) store_timeout: Duration,
    pub(super) signals: Signals,
}

/// What the loops are told.
#[derive(Clone)]
pub(super) struct Signals {
    /// Counts how often somebody said that there is something to deliver.
    pub(super) wakes: watch::Receiver<u64>,
    pub(super) draining: watch::Receiver<bool>,
}

impl Line {
    /// A call of the store, bounded and observed.
    pub(super) async fn call<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = within(self.store_timeout, call).await;
        if let Err(error) = &answer {
            self.observer.on(&RelayEvent::StoreError { verb, error });
        }
        answer
    }

    pub(super) fn is_draining(&self) -> bool {
        *self.signals.draining.borrow()
    }

    /// Takes up to `room` keys; answers them as they are held, or nothing when the store failed.
    async fn take(self: &Arc<Self>, room: usize) -> Result<Vec<Held>, StoreError> {
        let take = Take {
            sink: self.sink_name.clone(),
            holder: self.holder.clone(),
            lease: self.policy.lease,
            keys_max: u32::try_from(room).unwrap_or(TAKE_MAX).min(TAKE_MAX),
            per_key_max: self.policy.per_key_max,
        };
        let until = Instant::now() + self.policy.lease;
        let taken = self.messages.take(&take, self.clock.now());
        let taken = self.call("take", taken).await?;
        let held = |key| Held {
            line: Arc::clone(self),
            key,
            until,
        };
        Ok(taken.into_iter().map(held).collect())
    }
}

/// Delivers until it is told to drain, and then until what is under way has ended.
pub(super) async fn run(line: Arc<Line>) {
    let mut signals = line.signals.clone();
    let mut under_way = JoinSet::new();
    let mut rest = Rest::new();
    let most = line.policy.concurrency as usize;
    while !line.is_draining() {
        let seen = *signals.wakes.borrow_and_update();
        let room = most.saturating_sub(under_way.len());
        let wait = match line.take(room).await {
            Ok(taken) => {
                rest.reset();
                // One take is bounded, so there may be more.
                let wait = match taken.len() {
                    0 => line.dice.around(line.poll),
                    _ => Duration::ZERO,
                };
                for held in taken {
                    under_way.spawn(held.deliver());
                }
                wait
            }
            Err(_) => rest.after_failure(&line.dice),
        };
        next(&mut signals, seen, &mut under_way, most, wait).await;
    }
    while under_way.join_next().await.is_some() {}
}

/// Waits for a reason to look again. With no room left, only the end of a key or of the relay is one.
async fn next(
    signals: &mut Signals,
    seen: u64,
    under_way: &mut JoinSet<()>,
    most: usize,
    wait: Duration,
) {
    let is_full = under_way.len() >= most;
    tokio::select! {
        // Whoever else has told the loops to end is gone: so is the relay.
        _ = signals.draining.wait_for(|draining| *draining) => {}
        Some(_) = under_way.join_next() => {
            while under_way.try_join_next().is_some() {}
        }
        _ = signals.wakes.wait_for(|wakes| *wakes != seen), if !is_full => {}
        () = sleep(wait), if !is_full => {}
    }
}
