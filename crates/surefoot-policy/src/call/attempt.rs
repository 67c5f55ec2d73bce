//! One attempt: it is let pass, runs under its time-out, and what it showed is told to those who count.

use std::future::{Future, pending};
use std::time::Duration;

use surefoot_core::classify::Certainty;
use surefoot_core::timeouts::TimeoutKind;

use super::admit::{Admission, Admitted};
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

enum Broken<E> {
    Own(E),
    Injected(Injected),
}

impl<'a> Run<'a, '_> {
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
        let admitted = match self.admit(now) {
            Ok(Admission::Admitted(admitted)) => admitted,
            // On the heap, because only a call that waits needs it.
            Ok(waiting) => match Box::pin(self.admitted(waiting)).await {
                Ok(admitted) => admitted,
                Err((rejection, after)) => return Err(Tried::Rejected(rejection, after)),
            },
            Err((rejection, after)) => return Err(Tried::Rejected(rejection, after)),
        };
        let Admitted {
            mut permit,
            seat,
            began,
        } = admitted;
        if let Some(draw) = draw {
            draw.spend();
        }
        let within = self.policy.timeout.attempt.min(self.deadline.since(began));
        let ambient = self.ambient_of(number, began, within);
        let attempt = Attempt {
            dependency: self.dependency,
            deadline: ambient.deadline.unwrap_or(Moment::NEVER),
            number,
            outer: ambient.outer,
            hedge,
        };
        let _watch = self.policy.hedge.is_some().then(|| LatencyWatch {
            dependency: self.dependency,
            began,
        });
        let ran = self.run(attempt, ambient, within, &mut permit, make).await;
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
        match result {
            Ok(value) => Ok(Done { value, ended }),
            Err(how) => Err(self.recorded(&attempt, *how, began, ended)),
        }
    }

    /// Keeps how an attempt failed, and tells those who must know.
    fn recorded<E>(
        &self,
        attempt: &Attempt<'a>,
        (kind, meaning, source): (Kind, Meaning, Option<E>),
        began: Moment,
        ended: Moment,
    ) -> Tried<E> {
        let record = AttemptRecord {
            number: attempt.number,
            hedge: attempt.hedge,
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

    /// Runs what the caller made of an attempt until it ends or its time is over.
    async fn run<T, E, Fut>(
        &self,
        attempt: Attempt<'a>,
        ambient: Ambient,
        within: Duration,
        permit: &mut Option<Permit<'a>>,
        make: impl FnOnce(Attempt<'a>) -> Fut,
    ) -> Ran<Result<T, Broken<E>>>
    where
        Fut: Future<Output = Result<T, E>>,
    {
        let dependency = self.dependency;
        let injected = self
            .policy
            .fault
            .as_ref()
            .and_then(|fault| fault.injected(dependency.roll()));
        let inner = async {
            match injected {
                None => make(attempt).await.map_err(Broken::Own),
                Some(injected) => Box::pin(self.injected(injected, attempt, make)).await,
            }
        };
        let slow = &self.policy.breaker;
        Guarded::new(inner, ambient, slow.slow_after, within, || {
            let told = permit
                .as_mut()
                .and_then(|permit| permit.still_out(slow, dependency.now(), || dependency.roll()));
            dependency.tell(told);
        })
        .await
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
