//! One call under way: what was fixed when it began, and how far it has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::Guard;

use crate::budget::Draw;
use crate::clock::Moment;
use crate::context::Ambient;
use crate::dependency::Dependency;
use crate::error::{AttemptRecord, Rejection};
use crate::event::Event;
use crate::meaning::Meaning;
use crate::meta::{Criticality, Meta};
use crate::policy::Policy;
use crate::retry::{self, Next, Situation, Suppressed};

pub(super) struct Run<'a, 'r> {
    pub(super) dependency: &'a Dependency,
    pub(super) policy: Guard<Arc<Policy>>,
    meta: &'r Meta<'r>,
    pub(super) ambient: Ambient,
    /// Inside a call of the same dependency: then its breaker was asked already.
    pub(super) reentrant: bool,
    pub(super) started: Moment,
    pub(super) deadline: Moment,
    /// The last moment that was asked for.
    now: Moment,
    /// Counted by a second copy as well, while the first is out.
    sends: AtomicU32,
    attempts: u32,
    replayed: bool,
    previous: Option<Duration>,
    /// What the next attempt is paid with; on the heap, for only a further attempt has one.
    draw: Option<Box<Draw<'a>>>,
}

/// What one attempt begins with.
pub(super) struct Begin<'a> {
    pub(super) number: u32,
    pub(super) hedge: bool,
    pub(super) now: Moment,
    pub(super) draw: Option<Box<Draw<'a>>>,
}

/// A success, and when it was there.
pub(super) struct Done<T> {
    pub(super) value: T,
    pub(super) ended: Moment,
}

/// An attempt that did not succeed.
pub(super) enum Tried<E> {
    /// A guard turned it away.
    Rejected(Rejection, Option<Duration>),
    /// It was made and failed.
    Failed(Box<Failed<E>>),
}

pub(super) struct Failed<E> {
    pub(super) record: AttemptRecord,
    pub(super) meaning: Meaning,
    pub(super) source: Option<E>,
}

pub(super) type Turned = (Rejection, Option<Duration>);

impl<'a, 'r> Run<'a, 'r> {
    /// Forced inline, so that it is made where it stays.
    #[inline(always)]
    pub(super) fn begin(dependency: &'a Dependency, meta: &'r Meta<'r>) -> Result<Self, Turned> {
        let now = dependency.now();
        let policy = dependency.0.policy.load();
        let ambient = Ambient::current();
        let deadline = match dependency.deadline(&policy, meta, &ambient, now) {
            Ok(deadline) => deadline,
            Err(rejection) => return Err((rejection, None)),
        };
        Ok(Self {
            dependency,
            reentrant: ambient.is_inside(dependency.0.number),
            policy,
            meta,
            ambient,
            started: now,
            deadline,
            now,
            sends: AtomicU32::new(0),
            attempts: 0,
            replayed: false,
            previous: None,
            draw: None,
        })
    }

    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.dependency.0.name)
    }

    #[inline]
    pub(super) fn next_send(&mut self) -> Begin<'a> {
        Begin {
            number: self.count_send(),
            hedge: false,
            now: self.now,
            draw: self.draw.take(),
        }
    }

    /// Whether a slow attempt of this call gets a second copy.
    #[inline]
    pub(super) fn hedges(&self) -> bool {
        self.policy.hedge.is_some()
            && self.meta.is_repeatable()
            && !self.meta.once
            && self.ambient.outer.is_none()
    }

    pub(super) fn hedge_wait(&self) -> Duration {
        let Some(hedge) = &self.policy.hedge else {
            return Duration::MAX;
        };
        self.dependency
            .0
            .latency
            .percentile(hedge.percentile)
            .map_or(hedge.after, |usual| usual.max(hedge.after))
    }

    /// Pays for the second copy of a slow attempt; `None` when the budget is used up.
    pub(super) fn second_copy(&self) -> Option<Begin<'a>> {
        let dependency = self.dependency;
        let now = dependency.now();
        let draw = dependency.0.budget.draw(&self.policy.budget, now);
        dependency.emit(|| {
            if draw.is_some() {
                Event::Hedged
            } else {
                Event::HedgeSuppressed
            }
        });
        draw.map(|draw| Begin {
            number: self.count_send(),
            hedge: true,
            now,
            draw: Some(Box::new(draw)),
        })
    }

    #[inline]
    fn count_send(&self) -> u32 {
        // One task counts: an addition of two steps is enough, and cheaper.
        let sends = self.sends.load(Ordering::Relaxed) + 1;
        self.sends.store(sends, Ordering::Relaxed);
        sends
    }

    /// What follows the last failure: returns when the next attempt may begin.
    pub(super) async fn before_next(&mut self, meaning: Meaning) -> Result<(), Suppressed> {
        self.now = self.dependency.now();
        self.attempts += 1;
        let situation = Situation {
            meta: self.meta,
            meaning,
            attempts: self.attempts,
            replayed: self.replayed,
            has_outer: self.ambient.outer.is_some(),
            previous: self.previous,
            left: self.deadline.since(self.now),
            attempt_min: self.policy.timeout.attempt_min,
        };
        let wait = match retry::next(&self.policy.retry, &situation, self.dependency.roll()) {
            Next::Stop(suppressed) => return Err(suppressed),
            Next::Replay => {
                self.replayed = true;
                self.attempts -= 1;
                return Ok(());
            }
            Next::After(wait) => wait,
        };
        // Paid before the wait, so that many waiting calls cannot together exceed the budget.
        let draw = self
            .dependency
            .0
            .budget
            .draw(&self.policy.budget, self.now)
            .ok_or(Suppressed::Budget)?;
        self.draw = Some(Box::new(draw));
        self.previous = Some(wait);
        self.dependency.emit(|| Event::Retrying { wait });
        Box::pin(tokio::time::sleep(wait)).await;
        self.now = self.dependency.now();
        self.await_gate().await
    }

    #[inline]
    pub(super) fn succeeded(&self, ended: Moment) {
        self.dependency.0.budget.deposit(ended);
        let sends = self.sends.load(Ordering::Relaxed);
        self.dependency.emit(|| Event::Succeeded {
            took: ended.since(self.started),
            sends,
        });
    }

    pub(super) fn failed(&self, suppressed: Suppressed) {
        let took = self.dependency.now().since(self.started);
        self.dependency.emit(|| Event::Failed {
            took,
            sends: self.sends.load(Ordering::Relaxed),
            suppressed,
        });
    }

    /// A gate that another call's answer closed in the meantime holds this retry as well, as far as its time
    /// goes.
    async fn await_gate(&mut self) -> Result<(), Suppressed> {
        let longest = self.policy.retry.retry_after_max;
        let closed = self.dependency.0.gate.left(longest, self.now);
        if closed.is_zero() {
            return Ok(());
        }
        let wait = surefoot_core::retry_after::spread(closed, self.dependency.roll());
        if wait.saturating_add(self.policy.timeout.attempt_min) >= self.deadline.since(self.now) {
            return Err(Suppressed::RetryAfterExceedsDeadline);
        }
        Box::pin(tokio::time::sleep(wait)).await;
        self.now = self.dependency.now();
        Ok(())
    }
}

impl Dependency {
    /// When a call that begins now must be over; or why it may not begin.
    #[inline]
    fn deadline(
        &self,
        policy: &Policy,
        meta: &Meta<'_>,
        ambient: &Ambient,
        now: Moment,
    ) -> Result<Moment, Rejection> {
        let mut within = policy
            .timeout
            .total
            .min(meta.within.unwrap_or(Duration::MAX));
        if let Some(deadline) = ambient.deadline {
            within = within.min(self.until_shared(deadline, now));
        }
        if within < policy.timeout.attempt_min {
            return Err(Rejection::DeadlinePassed);
        }
        if let Some(outer) = ambient.outer.filter(|outer| outer.attempt > 1) {
            self.emit(|| Event::Amplified {
                attempt: outer.attempt,
            });
        }
        if meta.criticality != Criticality::Critical {
            let bulkhead = &self.0.bulkhead;
            if policy
                .shed
                .sheds(meta.criticality, bulkhead.taken(), bulkhead.limit())
            {
                return Err(Rejection::Shed);
            }
        }
        Ok(now.after(within))
    }
}
