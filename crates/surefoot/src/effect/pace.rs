//! When a call may leave and how long it may take; the same for handlers and for pull workers.

use std::time::Duration;

use surefoot_core::effect::{Effect, EffectRecovery, EffectTerms, VerifyPlan};
use surefoot_core::failure::Failure;
use surefoot_core::job::LeasedJob;
use surefoot_core::policy::JobPolicy;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

/// How long after it was decided a call may leave at the latest. A store that answers later than this has let the moment
/// pass; the next holder waits this long before it asks.
pub(crate) const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// How long a call may take: as declared, or as long as lease and recovery allow; in both cases within what is `left` of
/// the attempt.
pub(crate) fn call_limit(
    declared: Option<Duration>,
    recovery: EffectRecovery,
    lease: Duration,
    left: Duration,
) -> Duration {
    let room = lease - lease / 10;
    let allowed = match recovery {
        EffectRecovery::Verify { settles_within } => room.min(settles_within),
        EffectRecovery::SameKey { ttl: Some(ttl) } => room.min(ttl / 2),
        EffectRecovery::SameKey { ttl: None }
        | EffectRecovery::Step
        | EffectRecovery::AtMostOnce
        | EffectRecovery::Repeatable => room,
    };
    declared.unwrap_or(allowed).min(left)
}

/// Until when a lease must hold so that a call of this length that leaves as late as `leaves_by` ends within it.
pub(crate) fn lease_until(leaves_by: Timestamp, timeout: Duration) -> Timestamp {
    leaves_by.after(timeout).after(EffectTerms::MARGIN)
}

/// What contradicts itself in an effect as it was declared.
pub(crate) fn checked(
    terms: EffectTerms,
    plan: Option<&VerifyPlan>,
    lease: Duration,
) -> Result<(), String> {
    let mut faults = terms.validate(lease);
    if let Some(plan) = plan {
        faults.extend(plan.validate(terms.settles_within()));
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("; "))
    }
}

/// Why a call must not leave although nothing is in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The job's deadline passed.
    Deadline,
    /// Somebody asked to cancel the job.
    Cancelled,
    /// It did not happen, and every attempt is used up.
    NoAttemptLeft,
}

impl Refusal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Deadline => "the job's deadline passed, so nothing is sent any more",
            Self::Cancelled => "it did not happen, and it is not sent again: the job was cancelled",
            Self::NoAttemptLeft => "it did not happen, and no attempt is left to send it again",
        }
    }

    pub(crate) fn text(self) -> ErrorText {
        self.as_str().into()
    }

    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Deadline | Self::NoAttemptLeft => Failure::transient(self.as_str()),
            Self::Cancelled => Failure::cancelled(self.as_str()),
        }
        .not_sent()
    }
}

/// Whether an effect whose record is `known` must not be sent by this attempt. A first call is barred by the deadline only:
/// the job got so far, and goes on.
pub(super) fn refusal_to_send(
    known: Option<&Effect>,
    job: &LeasedJob,
    policy: &JobPolicy,
    cancel_requested: bool,
    now: Timestamp,
) -> Option<Refusal> {
    if job.deadline_at.is_some_and(|deadline| deadline <= now) {
        return Some(Refusal::Deadline);
    }
    known?;
    if cancel_requested {
        return Some(Refusal::Cancelled);
    }
    (job.counts.failed >= policy.attempts_max).then_some(Refusal::NoAttemptLeft)
}
