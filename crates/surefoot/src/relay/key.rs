//! One key that was taken: its messages go to the sink one after the other, and each is marked before the next one leaves. It
//! ends with the first that was not delivered, when the lease has no room for one more, or when the relay drains. A message
//! whose holder was lost before leaves only when that is on record, so that it is not parked for what nobody sent.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::classify::Class;
use surefoot_core::failure::Failure;
use surefoot_core::message::{NextDelivery, Proof, delivered_or_not, given_back, lost_too_often};
use surefoot_core::port::{DeliveryId, Departed, Departure, Mark, Marked, TakenDelivery, TakenKey};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::Instrument;

use super::events::{RelayEvent, RelayObserver};
use super::marks::{Marks, Wrote};
use super::run::Line;
use crate::dice::Rest;

/// How long before the end of the lease a delivery must be able to end: time to write down how it went.
const MARK_MARGIN: Duration = Duration::from_millis(500);

/// A key that this relay holds.
pub(super) struct Held {
    pub(super) line: Arc<Line>,
    pub(super) marks: Marks,
    pub(super) key: TakenKey,
    /// When its lease ends at the latest by this process's own monotonic clock, which started before the store was asked.
    pub(super) until: Instant,
}

/// What may be due at once after a key was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Those behind, or what was given back untried.
    Perhaps,
    /// Nothing.
    Nothing,
}

/// Whether a message may leave.
enum Leave {
    Yes,
    /// There is no time, or the relay drains.
    NotNow,
    /// Another relay has it, or the store refuses to say that it leaves.
    Never,
}

impl Held {
    /// Delivers what it can.
    pub(super) async fn deliver(self) -> After {
        for taken in &self.key.deliveries {
            let begun = Instant::now();
            let (next, unknown) = match self.unbearable(taken) {
                Some(next) => (next, true),
                None => match self.may_leave(taken).await {
                    Leave::Yes => self.attempt(taken).await,
                    Leave::NotNow => (given_back(taken.failed, self.line.clock.now()), false),
                    Leave::Never => return After::Nothing,
                },
            };
            let after = match &next {
                NextDelivery::Delivered { .. } => None,
                NextDelivery::Waiting { error: None, .. } => Some(After::Perhaps),
                NextDelivery::Waiting { error: Some(_), .. } | NextDelivery::Parked { .. } => {
                    Some(After::Nothing)
                }
            };
            if !self.mark(taken, next, unknown, begun.elapsed()).await {
                return After::Nothing;
            }
            if let Some(after) = after {
                return after;
            }
        }
        let has_key = |taken: &TakenDelivery| taken.message.key.is_some();
        match self.key.deliveries.last().is_some_and(has_key) {
            true => After::Perhaps,
            false => After::Nothing,
        }
    }

    /// Whether one may leave; where its holder was lost before, once that is on record.
    async fn may_leave(&self, taken: &TakenDelivery) -> Leave {
        let mut rest = Rest::new();
        while self.has_room() && !self.line.is_draining() {
            if taken.lost == 0 {
                return Leave::Yes;
            }
            let departures = [Departure {
                delivery: self.delivery(taken),
                epoch: self.key.epoch,
            }];
            let line = &self.line;
            match line.call("depart", line.messages.depart(&departures)).await {
                // The store may have taken its time.
                Ok(departed) if departed == [Departed::Applied] && self.has_room() => {
                    return Leave::Yes;
                }
                Ok(departed) if departed == [Departed::Applied] => return Leave::NotNow,
                Ok(_) => {
                    self.tell_stale(taken);
                    return Leave::Never;
                }
                // Given back it would be taken at once, and refused again: the lease is the pause.
                Err(error) if !error.is_transient() => return Leave::Never,
                Err(_) => sleep(rest.after_failure(&line.dice)).await,
            }
        }
        Leave::NotNow
    }

    fn delivery(&self, taken: &TakenDelivery) -> DeliveryId {
        DeliveryId {
            number: taken.number,
            sink: self.line.sink_name.clone(),
        }
    }

    /// A call leaves only while the lease has room for all of its time-out.
    fn has_room(&self) -> bool {
        let needed = self.line.policy.timeout + self.margin();
        Instant::now() + needed <= self.until
    }

    /// A short lease leaves a short margin.
    fn margin(&self) -> Duration {
        let spare = self
            .line
            .policy
            .lease
            .saturating_sub(self.line.policy.timeout);
        MARK_MARGIN.min(spare / 2)
    }

    fn unbearable(&self, taken: &TakenDelivery) -> Option<NextDelivery> {
        let now = self.line.clock.now();
        lost_too_often(taken.failed, taken.lost, &self.line.policy, now)
    }

    /// What follows from one try, and whether the sink may have the message although it did not say so.
    async fn attempt(&self, taken: &TakenDelivery) -> (NextDelivery, bool) {
        let answer = self.answer(taken).await;
        let unknown = answer
            .as_ref()
            .is_err_and(|failure| failure.class == Class::Unknown);
        let (line, now) = (&self.line, self.line.clock.now());
        let next = delivered_or_not(answer, taken.failed, &line.policy, now, line.dice.roll());
        (next, unknown)
    }

    /// What the sink says, in a task of its own, so that a panic ends that task alone.
    async fn answer(&self, taken: &TakenDelivery) -> Result<Proof, Failure> {
        let line = &self.line;
        let span = line.observer.delivery_span(&line.sink_name, &taken.message);
        let (sink, message) = (Arc::clone(&line.sink), taken.message.clone());
        let work = async move { sink.deliver(message).await };
        let mut task = AbortOnDrop(tokio::spawn(work.instrument(span)));
        match timeout(line.policy.timeout, &mut task.0).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Failure::unknown("the sink panicked")),
            Err(_) => {
                let text = format!("no answer within {:?}", line.policy.timeout);
                Err(Failure::unknown(text))
            }
        }
    }

    /// Writes down how it went, for as long as the lease lasts; answers whether it applies.
    async fn mark(
        &self,
        taken: &TakenDelivery,
        next: NextDelivery,
        unknown: bool,
        took: Duration,
    ) -> bool {
        let line = &self.line;
        let mark = Mark {
            delivery: self.delivery(taken),
            epoch: self.key.epoch,
            next,
        };
        let mut rest = Rest::new();
        loop {
            match self.marks.write(mark.clone()).await {
                Wrote::Answered(Marked::Applied | Marked::Already) => {
                    self.tell(taken, &mark.next, unknown, took);
                    return true;
                }
                Wrote::Answered(Marked::Stale) => {
                    self.tell_stale(taken);
                    return false;
                }
                Wrote::Refused => break,
                Wrote::Transient => {}
            }
            let pause = sleep(rest.after_failure(&line.dice));
            if timeout_at(self.until, pause).await.is_err() {
                break;
            }
        }
        line.observer.on(&RelayEvent::MarkDropped {
            sink: &line.sink_name,
            message: &taken.message.id,
        });
        false
    }

    fn tell(&self, taken: &TakenDelivery, next: &NextDelivery, unknown: bool, took: Duration) {
        let (sink, message) = (&self.line.sink_name, &taken.message.id);
        let event = match next {
            NextDelivery::Delivered { at, proof } => RelayEvent::Delivered {
                sink,
                message,
                proof,
                took,
                age: at.since(taken.message.appended_at),
            },
            // It was given back untried.
            NextDelivery::Waiting { error: None, .. } => return,
            NextDelivery::Waiting {
                due_at,
                error: Some(error),
                failed,
            } => RelayEvent::Failed {
                sink,
                message,
                error,
                unknown,
                failed: *failed,
                due_at: *due_at,
            },
            NextDelivery::Parked { error, .. } => RelayEvent::Parked {
                sink,
                message,
                error,
                unknown,
            },
        };
        self.line.observer.on(&event);
    }

    fn tell_stale(&self, taken: &TakenDelivery) {
        self.line.observer.on(&RelayEvent::StaleMark {
            sink: &self.line.sink_name,
            message: &taken.message.id,
            epoch: self.key.epoch,
        });
    }
}

/// A task that ends with whoever waits for it.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
