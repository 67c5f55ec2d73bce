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
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::events::{Guarded, RelayEvent, RelayObserver};
use super::key::{After, Held};
use super::marks::{Marks, marks};
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

    /// Takes up to `room` keys; answers them as they are held, and whether there may be more that is due.
    async fn take(
        self: &Arc<Self>,
        room: usize,
        marks: &Marks,
    ) -> Result<(Vec<Held>, bool), StoreError> {
        let keys_max = u32::try_from(room).unwrap_or(TAKE_MAX).min(TAKE_MAX);
        let take = Take {
            sink: self.sink_name.clone(),
            holder: self.holder.clone(),
            lease: self.policy.lease,
            keys_max,
            per_key_max: self.policy.per_key_max,
        };
        let until = Instant::now() + self.policy.lease;
        let taken = self.messages.take(&take, self.clock.now());
        let taken = self.call("take", taken).await?;
        let deliveries: usize = taken.iter().map(|key| key.deliveries.len()).sum();
        let is_cut = taken.len() >= keys_max as usize || deliveries >= TAKE_MAX as usize;
        let held = |key| Held {
            line: Arc::clone(self),
            marks: marks.clone(),
            key,
            until,
        };
        Ok((taken.into_iter().map(held).collect(), is_cut))
    }
}

/// Delivers until it is told to drain, and then until what is under way has ended.
pub(super) async fn run(line: Arc<Line>) {
    let (marks, waiting) = marks();
    let mut writing = JoinSet::new();
    writing.spawn(waiting.write(Arc::clone(&line)));
    let mut signals = line.signals.clone();
    let mut under_way = JoinSet::new();
    let mut rest = Rest::new();
    let most = line.policy.concurrency as usize;
    while !line.is_draining() {
        let seen = *signals.wakes.borrow_and_update();
        let room = most.saturating_sub(under_way.len());
        let look = match line.take(room, &marks).await {
            Ok((taken, is_more)) => {
                rest.reset();
                for held in taken {
                    under_way.spawn(held.deliver());
                }
                match is_more {
                    true => Look::after(seen, Duration::ZERO, true),
                    false => Look::after(seen, line.dice.around(line.poll), false),
                }
            }
            Err(_) => Look::after(seen, rest.after_failure(&line.dice), true),
        };
        look.wait(&mut signals, &mut under_way, most).await;
    }
    while under_way.join_next().await.is_some() {}
}

/// When to look again.
struct Look {
    /// The count of wakes before the latest look.
    seen: u64,
    /// At the latest.
    at: Instant,
    /// The latest look may have left something that is due, so the end of any key is a reason.
    is_more: bool,
}

impl Look {
    fn after(seen: u64, wait: Duration, is_more: bool) -> Self {
        Self {
            seen,
            at: Instant::now() + wait,
            is_more,
        }
    }

    /// Waits for a reason. With no room left, only the end of a key or of the relay is one.
    async fn wait(&self, signals: &mut Signals, under_way: &mut JoinSet<After>, most: usize) {
        loop {
            let is_full = under_way.len() >= most;
            tokio::select! {
                // A seed replays the choices.
                biased;
                // Whoever else has told the loops to end is gone: so is the relay.
                _ = signals.draining.wait_for(|draining| *draining) => return,
                Some(ended) = under_way.join_next() => {
                    let mut is_reason = self.is_reason(ended);
                    while let Some(ended) = under_way.try_join_next() {
                        is_reason |= self.is_reason(ended);
                    }
                    if is_reason {
                        return;
                    }
                }
                _ = signals.wakes.wait_for(|wakes| *wakes != self.seen), if !is_full => return,
                () = sleep_until(self.at), if !is_full => return,
            }
        }
    }

    fn is_reason(&self, ended: Result<After, JoinError>) -> bool {
        self.is_more
            || match ended {
                Ok(After::Perhaps) | Err(_) => true,
                Ok(After::Nothing) => false,
            }
    }
}
