//! The guards before each attempt. What one of them gave is held while the next is asked, and given back when
//! that one refuses.

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

impl<'a> Run<'a, '_> {
    /// Asks the gate, the limiter, the breaker and the bulkhead, in this order.
    pub(super) async fn admit(&self, mut now: Moment) -> Result<Admitted<'a>, Turned> {
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
                    Box::pin(tokio::time::sleep(turn)).await;
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
        // On the heap, because only a call that waits needs it.
        let seat = Box::pin(live.bulkhead.sit(&policy.bulkhead, wait))
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
}
