//! Decides what follows from an attempt. Pure: the clock and the dice are arguments, and a store only applies
//! what was decided here, under the fence that stands in the decision.

use std::time::Duration;

use crate::classify::Class;
use crate::failure::Failure;
use crate::id::{Epoch, JobId, Kind};
use crate::job::{AttemptOutcome, Counts, DeadReason, Death, LeasedJob};
use crate::payload::Payload;
use crate::policy::{JobPolicy, Recovery};
use crate::retry_after;
use crate::text::{self, ErrorText};
use crate::time::{Roll, Timestamp};
use crate::timeouts::TimeoutKind;

/// How often a job may be put off before it is a dead letter, so that no rate limit makes it wait for ever.
pub const DEFERRALS_MAX: u32 = 1000;

/// The shortest time for which a rate limit puts a job off.
pub const DEFERRAL_MIN: Duration = Duration::from_secs(1);

/// What is known of an attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The handler returned a result.
    Succeeded(Payload),
    /// The handler returned a failure.
    Failed(Failure),
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

/// Decides what follows from `report` on `job`.
///
/// - A success is a success, also after a cancellation was asked for.
/// - An outcome that nobody knows (reported unknown, timed out, lost) is retried only where the recovery allows a
///   second call; else it is a dead letter that says so.
/// - Failures use up `attempts_max`, lost leases `crashes_max`, put-off calls neither (but [`DEFERRALS_MAX`]).
/// - A retry that could not start before the job's deadline is a dead letter at once.
#[must_use]
pub fn settle(
    job: &LeasedJob,
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
    let (outcome, error, counts, next) = match report {
        Report::Succeeded(result) => decision.succeeded(result),
        Report::Failed(failure) => decision.failed(failure),
        Report::TimedOut(kind) => decision.timed_out(kind),
        Report::Released(reason) => decision.released(reason),
        Report::Interrupted(reason) => decision.interrupted(reason),
        Report::Lost => decision.lost(),
    };
    let counts = decision.with_unknown(outcome, counts);
    let next = decision.honest(next, counts);
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

/// The same words for every attempt that was lost, so that their dead letters share a fingerprint.
const LOST: &str =
    "the lease ended and its holder did not report: it crashed, stalled or was cut off";

type Decided = (AttemptOutcome, Option<ErrorText>, Counts, Next);

struct Decision<'a> {
    job: &'a LeasedJob,
    policy: &'a JobPolicy,
    now: Timestamp,
    roll: Roll,
}

impl Decision<'_> {
    fn succeeded(&self, result: Payload) -> Decided {
        (
            AttemptOutcome::Succeeded,
            None,
            self.job.counts,
            Next::Succeeded {
                at: self.now,
                result,
            },
        )
    }

    fn failed(&self, failure: Failure) -> Decided {
        let error = failure.text.clone();
        let (outcome, counts, next) = match failure.class {
            Class::Transient if failure.put_off => {
                let counts = self.one_more_deferral();
                (
                    AttemptOutcome::Released,
                    counts,
                    self.after_put_off(counts, failure),
                )
            }
            Class::Transient => {
                let counts = self.one_more_failure();
                (
                    AttemptOutcome::Transient,
                    counts,
                    self.after_failure(counts, &error, failure.retry_after),
                )
            }
            Class::Permanent => {
                let counts = self.one_more_failure();
                (
                    AttemptOutcome::Permanent,
                    counts,
                    self.dead(DeadReason::Permanent, error.clone()),
                )
            }
            Class::Unknown => {
                let counts = self.one_more_failure();
                (
                    AttemptOutcome::Unknown,
                    counts,
                    self.after_unknown(counts, &error),
                )
            }
            Class::Cancelled => (
                AttemptOutcome::Cancelled,
                self.job.counts,
                self.after_cancelled(&error),
            ),
        };
        (outcome, Some(error), counts, next)
    }

    fn timed_out(&self, kind: TimeoutKind) -> Decided {
        let error = ErrorText::from(format!("{kind} fired"));
        let counts = self.one_more_failure();
        let next = match kind {
            TimeoutKind::Connect | TimeoutKind::Attempt | TimeoutKind::Job
                if self.must_not_send_again() =>
            {
                self.dead(DeadReason::OutcomeUnknown, error.clone())
            }
            TimeoutKind::Deadline => self.dead(DeadReason::Deadline, error.clone()),
            TimeoutKind::Connect | TimeoutKind::Attempt | TimeoutKind::Job => {
                self.after_failure(counts, &error, None)
            }
        };
        (AttemptOutcome::TimedOut, Some(error), counts, next)
    }

    fn released(&self, reason: ErrorText) -> Decided {
        let next = if self.job.state.cancel_requested {
            self.cancelled(reason.clone())
        } else {
            Next::Pending { due_at: self.now }
        };
        (
            AttemptOutcome::Released,
            Some(reason),
            self.one_more_deferral(),
            next,
        )
    }

    fn interrupted(&self, reason: ErrorText) -> Decided {
        if self.must_not_send_again() {
            let next = self.dead(DeadReason::OutcomeUnknown, reason.clone());
            return (AttemptOutcome::Unknown, Some(reason), self.job.counts, next);
        }
        let (outcome, error, counts, next) = self.released(reason);
        (
            outcome,
            error,
            self.with_unknown(AttemptOutcome::Unknown, counts),
            next,
        )
    }

    fn lost(&self) -> Decided {
        let error = ErrorText::from(LOST);
        let crashed = self.job.counts.crashed.saturating_add(1);
        let counts = Counts {
            crashed,
            ..self.job.counts
        };
        let next = if self.must_not_send_again() {
            self.dead(DeadReason::OutcomeUnknown, error.clone())
        } else if crashed >= self.policy.crashes_max {
            self.dead(DeadReason::CrashLoop, error.clone())
        } else {
            self.retry_at(
                self.now
                    .after(self.policy.backoff.delay(crashed, None, self.roll)),
                &error,
            )
        };
        (AttemptOutcome::Lost, Some(error), counts, next)
    }

    fn after_unknown(&self, counts: Counts, error: &ErrorText) -> Next {
        match self.job.state.recovery {
            None | Some(Recovery::AtMostOnce) => {
                self.dead(DeadReason::OutcomeUnknown, error.clone())
            }
            Some(Recovery::SameKey | Recovery::Repeatable) => {
                self.after_failure(counts, error, None)
            }
        }
    }

    fn after_failure(
        &self,
        counts: Counts,
        error: &ErrorText,
        retry_after: Option<Duration>,
    ) -> Next {
        if counts.failed >= self.policy.attempts_max {
            return self.dead(DeadReason::Exhausted, error.clone());
        }
        let delay = match retry_after {
            Some(asked) => retry_after::spread(asked, self.roll),
            None => self.policy.backoff.delay(counts.failed, None, self.roll),
        };
        self.retry_at(self.now.after(delay), error)
    }

    fn after_put_off(&self, counts: Counts, failure: Failure) -> Next {
        if counts.deferred >= DEFERRALS_MAX {
            return self.dead(DeadReason::Exhausted, failure.text);
        }
        let delay = failure
            .retry_after
            .unwrap_or(DEFERRAL_MIN)
            .max(DEFERRAL_MIN);
        self.retry_at(
            self.now.after(retry_after::spread(delay, self.roll)),
            &failure.text,
        )
    }

    fn after_cancelled(&self, error: &ErrorText) -> Next {
        if self.must_not_send_again() {
            self.dead(DeadReason::OutcomeUnknown, error.clone())
        } else {
            self.cancelled(error.clone())
        }
    }

    /// A retry, unless a cancellation was asked for or the deadline leaves no room for it.
    fn retry_at(&self, due_at: Timestamp, error: &ErrorText) -> Next {
        if self.job.state.cancel_requested {
            return self.cancelled(error.clone());
        }
        if self
            .job
            .deadline_at
            .is_some_and(|deadline| due_at >= deadline)
        {
            return self.dead(DeadReason::Deadline, error.clone());
        }
        Next::Retrying {
            due_at,
            error: error.clone(),
        }
    }

    /// A job of which one effect may have happened never ends as a failure or as withdrawn, whatever its later attempts
    /// said.
    fn honest(&self, next: Next, counts: Counts) -> Next {
        match next {
            Next::Dead(death) => Next::Dead(Death {
                reason: honest_reason(death.reason, counts.unknown),
                ..death
            }),
            Next::Cancelled { reason, .. } if counts.unknown > 0 => {
                self.dead(DeadReason::OutcomeUnknown, reason)
            }
            other => other,
        }
    }

    /// Counts an attempt whose effect may have happened, where a second effect would matter.
    fn with_unknown(&self, outcome: AttemptOutcome, counts: Counts) -> Counts {
        let uncertain = matches!(
            outcome,
            AttemptOutcome::Unknown | AttemptOutcome::TimedOut | AttemptOutcome::Lost
        );
        let once = matches!(
            self.job.state.recovery,
            Some(Recovery::SameKey | Recovery::AtMostOnce)
        );
        let unknown = counts.unknown.saturating_add(u32::from(uncertain && once));
        Counts { unknown, ..counts }
    }

    fn must_not_send_again(&self) -> bool {
        self.job.state.recovery == Some(Recovery::AtMostOnce)
    }

    fn cancelled(&self, reason: ErrorText) -> Next {
        Next::Cancelled {
            at: self.now,
            reason,
        }
    }

    fn dead(&self, reason: DeadReason, error: ErrorText) -> Next {
        let fingerprint = text::fingerprint(self.job.kind.as_str(), &error);
        Next::Dead(Death {
            at: self.now,
            reason,
            error,
            fingerprint,
        })
    }

    fn one_more_failure(&self) -> Counts {
        Counts {
            failed: self.job.counts.failed.saturating_add(1),
            ..self.job.counts
        }
    }

    fn one_more_deferral(&self) -> Counts {
        Counts {
            deferred: self.job.counts.deferred.saturating_add(1),
            ..self.job.counts
        }
    }
}

#[cfg(test)]
mod tests;
