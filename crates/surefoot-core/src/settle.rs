//! Decides what follows from an attempt. Pure: the clock and the dice are arguments, and a store only applies
//! what was decided here, under the fence that stands in the decision.

mod decision;

use std::time::Duration;

use self::decision::Decision;
use crate::effect::{self, Effect};
use crate::failure::Failure;
use crate::id::{Epoch, JobId, Kind};
use crate::job::{AttemptOutcome, Counts, DeadReason, Death, LeasedJob};
use crate::payload::Payload;
use crate::policy::JobPolicy;
use crate::text::{self, ErrorText};
use crate::time::{Roll, Timestamp};
use crate::timeouts::TimeoutKind;

/// How often a job may be put off before it is a dead letter, so that no rate limit makes it wait for ever.
pub const DEFERRALS_MAX: u32 = 1000;

/// The shortest time for which a rate limit puts a job off.
pub const DEFERRAL_MIN: Duration = Duration::from_secs(1);

/// For how long a job is put off where whoever turned its call away names no time: a full bulkhead, a spent budget, a moment
/// that passed. Nobody else decides that.
pub const DEFERRAL: Duration = Duration::from_secs(2);

/// What is known of an attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The handler returned a result.
    Succeeded(Payload),
    /// The handler returned a failure.
    Failed(Failure),
    /// The handler sent nothing: it asked what became of an earlier call, and nobody knows yet. No attempt is used up.
    StillUnknown(ErrorText),
    /// The handler was stopped by this time-out.
    TimedOut(TimeoutKind),
    /// The job is given back before its handler began, such as by a drain.
    Released(ErrorText),
    /// The handler was stopped in the middle by a drain: no attempt is used up, but its effect may have happened.
    Interrupted(ErrorText),
    /// The lease ended and its holder did not say how the attempt went.
    Lost,
}

/// What must still hold when a settlement is applied, or it is refused as stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The job runs under this epoch.
    pub epoch: Epoch,
    /// For a lease that is taken to be lost: it ended before this time and was not extended since.
    pub lapsed_before: Option<Timestamp>,
}

/// One decided transition out of `running`, with the attempt record that it leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Which job.
    pub job: JobId,
    /// What must still hold.
    pub fence: Fence,
    /// The job's counts from here on.
    pub counts: Counts,
    /// The state it goes to.
    pub next: Next,
    /// How the attempt ended.
    pub outcome: AttemptOutcome,
    /// What the attempt said.
    pub error: Option<ErrorText>,
    /// When the attempt ended, or was found lost.
    pub ended_at: Timestamp,
}

/// The states that a running job can go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Given back: waits as if it had not run.
    Pending {
        /// The earliest time it runs.
        due_at: Timestamp,
    },
    /// Tries again.
    Retrying {
        /// The earliest time it runs.
        due_at: Timestamp,
        /// What the attempt said.
        error: ErrorText,
    },
    /// Asks before it sends anything again. A cancellation that was asked for waits for the answer.
    Verifying {
        /// The earliest time it asks.
        due_at: Timestamp,
        /// Why nobody knows.
        error: ErrorText,
    },
    /// Done.
    Succeeded {
        /// When.
        at: Timestamp,
        /// What the handler returned.
        result: Payload,
    },
    /// Waits for a person.
    Dead(Death),
    /// Withdrawn.
    Cancelled {
        /// When.
        at: Timestamp,
        /// Why.
        reason: ErrorText,
    },
}

/// Decides what follows from `report` on `job`, whose effects so far are `effects`.
///
/// - While an effect may have happened, it decides and not the report: the provider is asked, the call is sent again
///   where its recovery allows that, or a person decides. A job never succeeds, fails or is withdrawn meanwhile.
/// - A success is a success, also after a cancellation was asked for.
/// - An outcome that nobody knows (reported unknown, timed out, lost) is retried only where the recovery allows a
///   second call; else it is a dead letter that says so.
/// - Failures use up `attempts_max`, lost leases `crashes_max`, put-off calls neither (but [`DEFERRALS_MAX`]).
/// - A retry that could not start before the job's deadline is a dead letter at once.
#[must_use]
pub fn settle(
    job: &LeasedJob,
    effects: &[Effect],
    report: Report,
    policy: &JobPolicy,
    now: Timestamp,
    roll: Roll,
) -> Settlement {
    let decision = Decision {
        job,
        policy,
        now,
        roll,
    };
    let doubt = effect::doubt(effects, now);
    let report = decision.doubted(report, &doubt);
    let (outcome, error, counts, next) = match report {
        Report::Succeeded(result) => decision.succeeded(result),
        Report::Failed(failure) => decision.failed(failure, &doubt),
        Report::StillUnknown(error) => decision.still_unknown(error, &doubt),
        Report::TimedOut(kind) => decision.timed_out(kind),
        Report::Released(reason) => decision.released(reason),
        Report::Interrupted(reason) => decision.interrupted(reason),
        Report::Lost => decision.lost(),
    };
    let counts = decision.with_unknown(outcome, counts, effects);
    let next = decision.honest(decision.in_doubt(next, doubt, outcome, counts), counts);
    let lapsed_before = (outcome == AttemptOutcome::Lost).then_some(now);
    Settlement {
        job: job.id,
        fence: Fence {
            epoch: job.state.epoch,
            lapsed_before,
        },
        counts,
        next,
        outcome,
        error,
        ended_at: now,
    }
}

fn honest_reason(reason: DeadReason, unknown: u32) -> DeadReason {
    match reason {
        DeadReason::Permanent | DeadReason::Exhausted | DeadReason::Deadline if unknown > 0 => {
            DeadReason::OutcomeUnknown
        }
        // A crash loop says by itself that its effect may have happened.
        reason => reason,
    }
}

/// Decides what becomes of a waiting job whose deadline passed: the dead letter keeps what the last attempt said
/// (the error of a [`Retrying`](crate::job::JobState::Retrying) job), or says that none could start in time. `unknown` is
/// the job's [`Counts::unknown`].
#[must_use]
pub fn expired(kind: &Kind, unknown: u32, last_error: Option<&ErrorText>, now: Timestamp) -> Death {
    let error = last_error
        .cloned()
        .unwrap_or_else(|| ErrorText::from(EXPIRED));
    let fingerprint = text::fingerprint(kind.as_str(), &error);
    Death {
        at: now,
        reason: honest_reason(DeadReason::Deadline, unknown),
        error,
        fingerprint,
    }
}

/// The same words for every job that no attempt started of before its deadline.
const EXPIRED: &str = "the deadline passed before an attempt could start";

#[cfg(test)]
mod tests;
