//! The guards before each attempt. What one of them gave is held while the next is asked, and given back when
//! that one refuses. Only a call that has to wait for its turn or a seat becomes a future of its own.

use std::time::Duration;

use super::run::{Run, Turned};
use crate::breaker::{Permit, Refusal};
use crate::bulkhead::{Full, Seat};
use crate::clock::Moment;
use crate::error::Rejection;
use crate::rate::Turn;

/// What an attempt holds while it is out.
pub(super) struct Admitted<'a> {
    pub(super) permit: Option<Permit<'a>>,
    pub(super) seat: Seat<'a>,
    pub(super) began: Moment,
}

/// How far an attempt came without waiting.
pub(super) enum Admission<'a> {
    Admitted(Admitted<'a>),
    /// Its turn comes after this time.
    Turn(Duration),
    /// A seat must be waited for, for at most this time.
    Seat(Option<Permit<'a>>, Duration),
}

const PASSED: Turned = (Rejection::DeadlinePassed, None);

impl<'a> Run<'a, '_> {
    /// Asks the gate, the limiter, the breaker and the bulkhead, in this order, as far as that goes at once.
    #[inline(always)]
    pub(super) fn admit(&self, now: Moment) -> Result<Admission<'a>, Turned> {
        let (live, policy) = (&self.dependency.0, &**self.policy);
        let spare = self.spare(now)?;
        let closed = live.gate.left(policy.retry.retry_after_max, now);
        if !closed.is_zero() {
            return Err((Rejection::GateClosed, Some(closed)));
        }
        match policy
            .rate
            .as_ref()
            .map(|rate| live.rate.take(rate, now, spare))
        {
            None | Some(Turn::In(Duration::ZERO)) => self.admit_in_turn(now, spare),
            Some(Turn::In(turn)) => Ok(Admission::Turn(turn)),
            Some(Turn::NotWithin(after)) => Err((Rejection::RateLimited, Some(after))),
        }
    }

    /// Waits for what is missing.
    pub(super) async fn admitted(
        &self,
        mut admission: Admission<'a>,
    ) -> Result<Admitted<'a>, Turned> {
        loop {
            admission = match admission {
                Admission::Admitted(admitted) => return Ok(admitted),
                Admission::Turn(turn) => {
                    tokio::time::sleep(turn).await;
                    let now = self.dependency.now();
                    self.admit_in_turn(now, self.spare(now)?)?
                }
                Admission::Seat(permit, wait) => {
                    let bulkhead = &self.dependency.0.bulkhead;
                    let seat = bulkhead
                        .sit(&self.policy.bulkhead, wait)
                        .await
                        .map_err(|full| match full {
                            Full::Queue => (Rejection::BulkheadFull, None),
                            Full::Waited => (Rejection::BulkheadWaited, None),
                        })?;
                    let began = self.dependency.now();
                    self.spare(began)?;
                    return Ok(Admitted {
                        permit,
                        seat,
                        began,
                    });
                }
            };
        }
    }

    #[inline(always)]
    fn admit_in_turn(&self, now: Moment, spare: Duration) -> Result<Admission<'a>, Turned> {
        let permit = if self.reentrant {
            None
        } else {
            Some(self.pass_breaker(now)?)
        };
        Ok(match self.dependency.0.bulkhead.try_sit() {
            Some(seat) => Admission::Admitted(Admitted {
                permit,
                seat,
                began: now,
            }),
            None => Admission::Seat(permit, spare),
        })
    }

    /// How long may be waited so that an attempt can still end in time.
    #[inline]
    fn spare(&self, now: Moment) -> Result<Duration, Turned> {
        self.deadline
            .since(now)
            .checked_sub(self.policy.timeout.attempt_min)
            .ok_or(PASSED)
    }

    #[inline(always)]
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
}
