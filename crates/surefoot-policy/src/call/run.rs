//! One call under way: what was fixed when it began, and how far it has come.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::classify::Certainty;
use surefoot_core::timeouts::TimeoutKind;

use crate::adaptive::Sample;
use crate::breaker::{Evidence, Permit, Refusal};
use crate::budget::Draw;
use crate::bulkhead::{Full, Seat};
use crate::clock::Moment;
use crate::context::{Ambient, Outer};
use crate::dependency::{Attempt, Dependency};
use crate::error::{AttemptRecord, Kind, Rejection};
use crate::event::Event;
use crate::fault::Injected;
use crate::meaning::{Health, Meaning, Meant};
use crate::meta::{Criticality, Meta};
use crate::policy::Policy;
use crate::rate::Turn;
use crate::retry::{self, Next, Situation, Suppressed};
use crate::timeout::{Guarded, Ran};

/// A deadline that leaves an attempt less than this share of its own time-out says more about the caller than
/// about the dependency when it fires.
const FAIR_SHARE: u32 = 4;

pub(super) struct Run<'a, 'm> {
    pub(super) dependency: &'a Dependency,
    policy: Arc<Policy>,
    meta: Meta<'m>,
    ambient: Ambient,
    /// Inside a call of the same dependency: then its breaker was asked already.
    reentrant: bool,
    started: Moment,
    deadline: Moment,
    /// The last moment that was asked for.
    now: Moment,
    sends: u32,
    attempts: u32,
    replayed: bool,
    previous: Option<Duration>,
    draw: Option<Draw<'a>>,
}

/// What one attempt begins with.
pub(super) struct Begin<'a> {
    number: u32,
    hedge: bool,
    now: Option<Moment>,
    draw: Option<Draw<'a>>,
}

/// A second copy that may leave.
pub(super) struct SecondCopy {
    number: u32,
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
    Failed(Failed<E>),
}

pub(super) struct Failed<E> {
    pub(super) record: AttemptRecord,
    pub(super) meaning: Meaning,
    pub(super) source: Option<E>,
}

type Turned = (Rejection, Option<Duration>);

/// How an attempt failed, what that means, and the call's own error.
type How<E> = (Kind, Meaning, Option<E>);

impl<'a, 'm> Run<'a, 'm> {
    pub(super) fn begin(dependency: &'a Dependency, meta: Meta<'m>) -> Result<Self, Turned> {
        let (now, policy, ambient) = (dependency.now(), dependency.policy(), Ambient::current());
        let mut within = policy
            .timeout
            .total
            .min(meta.within.unwrap_or(Duration::MAX));
        if let Some(deadline) = ambient.deadline {
            within = within.min(dependency.until_shared(deadline, now));
        }
        if within < policy.timeout.attempt_min {
            return Err((Rejection::DeadlinePassed, None));
        }
        if let Some(outer) = ambient.outer.filter(|outer| outer.attempt > 1) {
            dependency.emit(|| Event::Amplified {
                attempt: outer.attempt,
            });
        }
        if meta.criticality != Criticality::Critical {
            let bulkhead = &dependency.0.bulkhead;
            if policy
                .shed
                .sheds(meta.criticality, bulkhead.taken(), bulkhead.limit())
            {
                return Err((Rejection::Shed, None));
            }
        }
        Ok(Self {
            dependency,
            meta,
            ambient,
            reentrant: ambient.is_inside(dependency.0.number),
            started: now,
            deadline: now.after(within),
            now,
            sends: 0,
            attempts: 0,
            replayed: false,
            previous: None,
            draw: None,
            policy,
        })
    }

    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.dependency.0.name)
    }

    pub(super) fn next_send(&mut self) -> Begin<'a> {
        self.sends += 1;
        Begin {
            number: self.sends,
            hedge: false,
            now: Some(self.now),
            draw: self.draw.take(),
        }
    }

    /// Whether a slow attempt of this call gets a second copy.
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

    pub(super) const fn second_copy(&self, first: &Begin<'a>) -> SecondCopy {
        SecondCopy {
            number: first.number + 1,
        }
    }

    /// One attempt through the guards that stand before each attempt.
    pub(super) async fn attempt<T, E, Fut>(
        &self,
        begin: Begin<'a>,
        make: impl FnOnce(Attempt<'a>) -> Fut,
    ) -> Result<Done<T>, Tried<E>>
    where
        E: Meant,
        Fut: Future<Output = Result<T, E>>,
    {
        let Begin {
            number,
            hedge,
            now,
            draw,
        } = begin;
        let now = now.unwrap_or_else(|| self.dependency.now());
        let admitted = self
            .admit(now)
            .await
            .map_err(|(rejection, after)| Tried::Rejected(rejection, after))?;
        let Admitted {
            mut permit,
            seat,
            began,
        } = admitted;
        if let Some(draw) = draw {
            draw.spend();
        }
        let within = self.policy.timeout.attempt.min(self.deadline.since(began));
        let attempt = Attempt {
            dependency: self.dependency,
            number,
            hedge,
            ambient: self.ambient_of(number, began, within),
            connect: self.policy.timeout.connect,
        };
        let _watch = self.policy.hedge.is_some().then_some(LatencyWatch {
            dependency: self.dependency,
            began,
        });
        let injected = self
            .policy
            .fault
            .as_ref()
            .and_then(|fault| fault.injected(self.dependency.roll()));
        let inner = async {
            match injected {
                None => make(attempt).await.map_err(Broken::Own),
                Some(injected) => self.injected(injected, attempt, make).await,
            }
        };
        let slow_after = self.policy.breaker.slow_after;
        let ran = Guarded::new(inner, attempt.ambient, slow_after, within, || {
            let told = permit.as_mut().and_then(|permit| {
                permit.still_out(&self.policy.breaker, self.dependency.now(), || {
                    self.dependency.roll()
                })
            });
            self.dependency.tell(told);
        })
        .await;
        let out = self
            .policy
            .adaptive
            .is_some()
            .then(|| self.dependency.0.bulkhead.taken());
        drop(seat);
        let ended = self.dependency.now();
        let took = ended.since(began);
        let (health, result) = self.weighed(ran, within);
        self.settle(permit, health, took, ended);
        self.adapt(out, health, took, ended);
        result
            .map(|value| Done { value, ended })
            .map_err(|(kind, meaning, source)| {
                let began_after = began.since(self.started);
                let record = AttemptRecord {
                    number,
                    hedge,
                    began_after,
                    took,
                    kind,
                    certainty: meaning.certainty,
                };
                self.heed(&meaning, ended);
                self.dependency.emit(|| Event::AttemptFailed(record));
                Tried::Failed(Failed {
                    record,
                    meaning,
                    source,
                })
            })
    }

    /// What follows the last failure: returns when the next attempt may begin.
    pub(super) async fn before_next(&mut self, meaning: Meaning) -> Result<(), Suppressed> {
        self.now = self.dependency.now();
        self.attempts += 1;
        let situation = Situation {
            meta: &self.meta,
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
        self.draw = Some(draw);
        self.previous = Some(wait);
        self.dependency.emit(|| Event::Retrying { wait });
        tokio::time::sleep(wait).await;
        self.now = self.dependency.now();
        self.await_gate().await
    }

    pub(super) fn succeeded(&self, ended: Moment) {
        self.dependency.0.budget.deposit(ended);
        let sends = self.sends;
        self.dependency.emit(|| Event::Succeeded {
            took: ended.since(self.started),
            sends,
        });
    }

    pub(super) fn failed(&self, suppressed: Suppressed) {
        let took = self.dependency.now().since(self.started);
        self.dependency.emit(|| Event::Failed {
            took,
            sends: self.sends,
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
        tokio::time::sleep(wait).await;
        self.now = self.dependency.now();
        Ok(())
    }

    /// Asks the gate, the limiter, the breaker and the bulkhead, in this order.
    async fn admit(&self, mut now: Moment) -> Result<Admitted<'a>, Turned> {
        let (live, policy) = (&self.dependency.0, &*self.policy);
        let spare = |now| {
            self.deadline
                .since(now)
                .checked_sub(policy.timeout.attempt_min)
        };
        let passed = (Rejection::DeadlinePassed, None);
        let mut wait = spare(now).ok_or(passed)?;
        let closed = live.gate.left(policy.retry.retry_after_max, now);
        if !closed.is_zero() {
            return Err((Rejection::GateClosed, Some(closed)));
        }
        if let Some(rate) = &policy.rate {
            match live.rate.take(rate, now, wait) {
                Turn::In(Duration::ZERO) => {}
                Turn::In(turn) => {
                    tokio::time::sleep(turn).await;
                    now = self.dependency.now();
                    wait = spare(now).ok_or(passed)?;
                }
                Turn::NotWithin(after) => return Err((Rejection::RateLimited, Some(after))),
            }
        }
        let permit = if self.reentrant {
            None
        } else {
            Some(self.pass_breaker(now)?)
        };
        if let Some(seat) = live.bulkhead.try_sit() {
            return Ok(Admitted {
                permit,
                seat,
                began: now,
            });
        }
        let seat = live
            .bulkhead
            .sit(&policy.bulkhead, wait)
            .await
            .map_err(|full| match full {
                Full::Queue => (Rejection::BulkheadFull, None),
                Full::Waited => (Rejection::BulkheadWaited, None),
            })?;
        let began = self.dependency.now();
        spare(began).ok_or(passed)?;
        Ok(Admitted {
            permit,
            seat,
            began,
        })
    }

    fn pass_breaker(&self, now: Moment) -> Result<Permit<'a>, Turned> {
        let (dependency, options) = (self.dependency, &self.policy.breaker);
        match dependency
            .0
            .breaker
            .admit(options, now, || dependency.roll())
        {
            Ok((permit, told)) => {
                dependency.tell(told);
                Ok(permit)
            }
            Err(Refusal::Open(left)) => Err((Rejection::BreakerOpen, Some(left))),
            Err(Refusal::ProbesOut) => Err((Rejection::ProbesOut, None)),
            Err(Refusal::Ramping) => Err((Rejection::Ramping, None)),
            Err(Refusal::Forced) => Err((Rejection::ForcedOpen, None)),
        }
    }

    /// The context of one attempt: its own deadline, and this call as the retry owner unless there is one above
    /// or nothing is ever repeated here.
    fn ambient_of(&self, number: u32, began: Moment, within: Duration) -> Ambient {
        let deadline = self.dependency.shared(began.after(within), began);
        let repeats = self.policy.retry.attempts_max > 1 || self.policy.hedge.is_some();
        let own = repeats.then_some(Outer { attempt: number });
        let mut ambient = self.ambient;
        ambient.outer = ambient.outer.or(own);
        ambient
            .narrowed(deadline)
            .entering(self.dependency.0.number)
    }

    async fn injected<T, E, Fut>(
        &self,
        injected: Injected,
        attempt: Attempt<'a>,
        make: impl FnOnce(Attempt<'a>) -> Fut,
    ) -> Result<T, Broken<E>>
    where
        Fut: Future<Output = Result<T, E>>,
    {
        self.dependency.emit(|| Event::FaultInjected(injected));
        match injected {
            Injected::Hang => pending().await,
            Injected::Delay(latency) => {
                tokio::time::sleep(latency).await;
                make(attempt).await.map_err(Broken::Own)
            }
            Injected::Error | Injected::Reset => Err(Broken::Injected(injected)),
        }
    }

    /// What came of an attempt: what it shows, and the value or how it failed.
    fn weighed<T, E: Meant>(
        &self,
        ran: Ran<Result<T, Broken<E>>>,
        within: Duration,
    ) -> (Health, Result<T, How<E>>) {
        match ran {
            Ran::Done(Ok(value)) => (Health::Alive, Ok(value)),
            Ran::Done(Err(Broken::Own(error))) => {
                let meaning = error.meaning();
                (meaning.health, Err((Kind::Failed, meaning, Some(error))))
            }
            Ran::Done(Err(Broken::Injected(injected))) => {
                let meaning = injected.meaning().unwrap_or(Meaning::TRANSIENT);
                (
                    meaning.health,
                    Err((Kind::Injected(injected), meaning, None)),
                )
            }
            Ran::TimedOut => {
                let own = self.policy.timeout.attempt;
                let limit = if within < own {
                    TimeoutKind::Deadline
                } else {
                    TimeoutKind::Attempt
                };
                let fair = within.saturating_mul(FAIR_SHARE) >= own;
                let health = if fair {
                    Health::Failed
                } else {
                    Health::Neutral
                };
                let meaning = Meaning {
                    certainty: Certainty::MaybeApplied,
                    health,
                    ..Meaning::TRANSIENT
                };
                (health, Err((Kind::TimedOut(limit), meaning, None)))
            }
        }
    }

    fn settle(&self, permit: Option<Permit<'a>>, health: Health, took: Duration, now: Moment) {
        let Some(permit) = permit else { return };
        let options = &self.policy.breaker;
        let slow = options
            .slow_after
            .is_some_and(|slow_after| took >= slow_after);
        let evidence = match (health, slow) {
            (Health::Alive, false) => Evidence::Alive,
            (Health::Alive, true) => Evidence::AliveButSlow,
            (Health::Failed, false) => Evidence::Failed,
            (Health::Failed, true) => Evidence::FailedAndSlow,
            (Health::Throttled | Health::Neutral, _) => Evidence::Neutral,
        };
        let told = permit.settle(options, evidence, now, || self.dependency.roll());
        self.dependency.tell(told);
    }

    fn adapt(&self, out: Option<u32>, health: Health, took: Duration, now: Moment) {
        let (Some(out), Some(options)) = (out, &self.policy.adaptive) else {
            return;
        };
        let adaptive = self.dependency.0.adaptive.load();
        let Some(adaptive) = adaptive.as_ref() else {
            return;
        };
        let dropped = match health {
            Health::Failed | Health::Throttled => true,
            Health::Alive => false,
            Health::Neutral => return,
        };
        if let Some(limit) = adaptive.sample(options, Sample { took, dropped, out }, now) {
            self.dependency.0.bulkhead.set_limit(limit);
            self.dependency.emit(|| Event::LimitMoved { limit });
        }
    }

    /// A dependency that says when to come back is left alone by all until then.
    fn heed(&self, meaning: &Meaning, now: Moment) {
        let Some(after) = meaning.retry_after.filter(|after| !after.is_zero()) else {
            return;
        };
        if self
            .dependency
            .0
            .gate
            .close(after, self.policy.retry.retry_after_max, now)
        {
            self.dependency.emit(|| Event::GateClosed { after });
        }
    }
}

struct Admitted<'a> {
    permit: Option<Permit<'a>>,
    seat: Seat<'a>,
    began: Moment,
}

enum Broken<E> {
    Own(E),
    Injected(Injected),
}

impl SecondCopy {
    /// Pays for the second copy; `None` when the budget is used up.
    pub(super) fn into_begin<'a>(self, run: &Run<'a, '_>) -> Option<Begin<'a>> {
        let dependency = run.dependency;
        let draw = dependency
            .0
            .budget
            .draw(&run.policy.budget, dependency.now());
        dependency.emit(|| {
            if draw.is_some() {
                Event::Hedged
            } else {
                Event::HedgeSuppressed
            }
        });
        draw.map(|draw| Begin {
            number: self.number,
            hedge: true,
            now: None,
            draw: Some(draw),
        })
    }
}

/// Counts how long an attempt took, also when it is dropped before its end.
struct LatencyWatch<'a> {
    dependency: &'a Dependency,
    began: Moment,
}

impl Drop for LatencyWatch<'_> {
    fn drop(&mut self) {
        let now = self.dependency.now();
        self.dependency.0.latency.add(now.since(self.began), now);
    }
}
