//! One attempt: it is let pass, runs under its time-out, and what it showed is told to those who count.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use surefoot_core::classify::Certainty;
use surefoot_core::timeouts::TimeoutKind;
use tokio::time::Sleep;

use super::admit::Admitted;
use super::run::{Begin, Done, Failed, Run, Tried};
use crate::adaptive::Sample;
use crate::breaker::{Evidence, Permit};
use crate::clock::Moment;
use crate::context::{Ambient, Outer};
use crate::dependency::{Attempt, Dependency};
use crate::error::{AttemptRecord, Kind};
use crate::event::Event;
use crate::fault::Injected;
use crate::meaning::{Health, Meaning, Meant};
use crate::timeout::{Guarded, Ran};

/// A deadline that leaves an attempt less than this share of its own time-out says more about the caller than
/// about the dependency when it fires.
const FAIR_SHARE: u32 = 4;

/// How an attempt failed, what that means, and the call's own error.
///
/// On the heap, so that what a success returns stays small.
type How<E> = Box<(Kind, Meaning, Option<E>)>;

pub(super) enum Broken<E> {
    Own(E),
    Injected(Injected),
}

/// An attempt that is out.
pub(super) struct Out<'a> {
    number: u32,
    hedge: bool,
    within: Duration,
    ambient: Ambient,
    _watch: Option<LatencyWatch<'a>>,
}

impl<'a> Out<'a> {
    #[inline(always)]
    pub(super) fn attempt(&self, dependency: &'a Dependency) -> Attempt<'a> {
        Attempt {
            dependency,
            deadline: self.ambient.deadline.unwrap_or(Moment::NEVER),
            number: self.number,
            outer: self.ambient.outer,
            hedge: self.hedge,
        }
    }
}

impl<'a> Run<'a, '_> {
    /// An attempt leaves: what it was let pass with, and its share of the time.
    #[inline(always)]
    pub(super) fn leaves(&self, begin: Begin<'a>, admitted: &Admitted<'a>) -> Out<'a> {
        if let Some(draw) = begin.draw {
            draw.spend();
        }
        let began = admitted.began;
        let within = self.policy.timeout.attempt.min(self.deadline.since(began));
        let ambient = self.ambient_of(begin.number, began, within);
        Out {
            number: begin.number,
            hedge: begin.hedge,
            within,
            ambient,
            _watch: self.policy.hedge.is_some().then(|| LatencyWatch {
                dependency: self.dependency,
                began,
            }),
        }
    }

    /// Runs what the caller makes of an attempt until it ends or its time is over.
    #[inline(always)]
    pub(super) fn guarded<'g, F: Future>(
        &'g self,
        out: &'g Out<'a>,
        permit: &'g mut Option<Permit<'a>>,
        inner: Pin<&'g mut F>,
        timer: Pin<&'g mut Option<Sleep>>,
    ) -> Guarded<'g, F, impl FnMut() + Unpin> {
        let slow_after = self.policy.breaker.slow_after;
        Guarded::new(inner, timer, &out.ambient, slow_after, out.within, || {
            self.passed_slow_line(permit.as_mut());
        })
    }

    /// What came of an attempt is told to those who count.
    #[inline(always)]
    pub(super) fn ended<T, E: Meant>(
        &self,
        out: &Out<'a>,
        Admitted {
            permit,
            seat,
            began,
        }: Admitted<'a>,
        ran: Ran<Result<T, Broken<E>>>,
    ) -> Result<Done<T>, Tried<E>> {
        let taken = self
            .policy
            .adaptive
            .is_some()
            .then(|| self.dependency.0.bulkhead.taken());
        drop(seat);
        let ended = self.dependency.now();
        let took = ended.since(began);
        let (health, result) = self.weighed(ran, out.within);
        self.settle(permit, health, took, ended);
        self.adapt(taken, health, took, ended);
        match result {
            Ok(value) => Ok(Done { value, ended }),
            Err(how) => Err(self.recorded((out.number, out.hedge), *how, began, ended)),
        }
    }

    /// Keeps how an attempt failed, and tells those who must know.
    fn recorded<E>(
        &self,
        (number, hedge): (u32, bool),
        (kind, meaning, source): (Kind, Meaning, Option<E>),
        began: Moment,
        ended: Moment,
    ) -> Tried<E> {
        let record = AttemptRecord {
            number,
            hedge,
            began_after: began.since(self.started),
            took: ended.since(began),
            kind,
            certainty: meaning.certainty,
        };
        self.heed(&meaning, ended);
        self.dependency.emit(|| Event::AttemptFailed(record));
        Tried::Failed(Box::new(Failed {
            record,
            meaning,
            source,
        }))
    }

    /// What the caller makes of an attempt, or the fault that is injected into it.
    #[inline(always)]
    pub(super) fn made<T, E, Fut>(
        &self,
        attempt: Attempt<'a>,
        make: impl FnOnce(Attempt<'a>) -> Fut,
    ) -> impl Future<Output = Result<T, Broken<E>>>
    where
        Fut: Future<Output = Result<T, E>>,
    {
        let fault = self.policy.fault.as_ref();
        let injected = fault.and_then(|fault| fault.injected(self.dependency.roll()));
        async move {
            match injected {
                None => make(attempt).await.map_err(Broken::Own),
                Some(injected) => Box::pin(self.injected(injected, attempt, make)).await,
            }
        }
    }

    #[cold]
    fn passed_slow_line(&self, permit: Option<&mut Permit<'a>>) {
        let (dependency, options) = (self.dependency, &self.policy.breaker);
        let told = permit
            .and_then(|permit| permit.still_out(options, dependency.now(), || dependency.roll()));
        dependency.tell(told);
    }

    /// The context of one attempt: its own deadline, and this call as the retry owner unless there is one above
    /// or nothing is ever repeated here.
    #[inline(always)]
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
                (
                    meaning.health,
                    Err(Box::new((Kind::Failed, meaning, Some(error)))),
                )
            }
            Ran::Done(Err(Broken::Injected(injected))) => {
                let meaning = injected.meaning().unwrap_or(Meaning::TRANSIENT);
                (
                    meaning.health,
                    Err(Box::new((Kind::Injected(injected), meaning, None))),
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
                (
                    health,
                    Err(Box::new((Kind::TimedOut(limit), meaning, None))),
                )
            }
        }
    }

    #[inline]
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

    #[inline]
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
