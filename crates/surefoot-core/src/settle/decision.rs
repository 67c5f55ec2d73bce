//! What each report means for the job: the counts and the next state. One function for each report, in the order of
//! [`Report`](super::Report); below them what several share.

use std::time::Duration;

use super::{DEFERRAL, DEFERRAL_MIN, DEFERRALS_MAX, Next, Report, honest_reason};
use crate::classify::Class;
use crate::effect::{Doubt, Effect};
use crate::failure::Failure;
use crate::job::{AttemptOutcome, Counts, DeadReason, Death, LeasedJob};
use crate::payload::Payload;
use crate::policy::{JobPolicy, Recovery};
use crate::retry_after;
use crate::text::{self, ErrorText};
use crate::time::{Roll, Timestamp};
use crate::timeouts::TimeoutKind;

/// The same words for every attempt that was lost, so that their dead letters share a fingerprint.
const LOST: &str =
    "the lease ended and its holder did not report: it crashed, stalled or was cut off";

const RETURNED_IN_DOUBT: &str =
    "the handler returned a result although nobody knows the outcome of one of its effects";

pub(super) type Decided = (AttemptOutcome, Option<ErrorText>, Counts, Next);

/// One attempt to decide on.
pub(super) struct Decision<'a> {
    pub(super) job: &'a LeasedJob,
    pub(super) policy: &'a JobPolicy,
    pub(super) now: Timestamp,
    pub(super) roll: Roll,
}

impl Decision<'_> {
    pub(super) fn succeeded(&self, result: Payload) -> Decided {
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

    /// A handler cannot say how it went while an effect of it may have happened.
    pub(super) fn doubted(&self, report: Report, doubt: &Doubt) -> Report {
        match (report, doubt) {
            (Report::Succeeded(_), Doubt::SendAgain | Doubt::AskAt(..) | Doubt::Person(_)) => {
                Report::Failed(Failure::unknown(RETURNED_IN_DOUBT))
            }
            (report, _) => report,
        }
    }

    pub(super) fn failed(&self, failure: Failure, doubt: &Doubt) -> Decided {
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
                    self.after_unknown(counts, &error, failure.retry_after, doubt),
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

    pub(super) fn still_unknown(&self, error: ErrorText, doubt: &Doubt) -> Decided {
        let next = self.after_unknown(self.job.counts, &error, None, doubt);
        (AttemptOutcome::Unknown, Some(error), self.job.counts, next)
    }

    pub(super) fn timed_out(&self, kind: TimeoutKind) -> Decided {
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

    pub(super) fn released(&self, reason: ErrorText) -> Decided {
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

    pub(super) fn interrupted(&self, reason: ErrorText) -> Decided {
        if self.must_not_send_again() {
            let next = self.dead(DeadReason::OutcomeUnknown, reason.clone());
            return (AttemptOutcome::Unknown, Some(reason), self.job.counts, next);
        }
        let (outcome, error, counts, next) = self.released(reason);
        (
            outcome,
            error,
            self.with_unknown(AttemptOutcome::Unknown, counts, &[]),
            next,
        )
    }

    pub(super) fn lost(&self) -> Decided {
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

    fn after_unknown(
        &self,
        counts: Counts,
        error: &ErrorText,
        retry_after: Option<Duration>,
        doubt: &Doubt,
    ) -> Next {
        match self.job.state.recovery {
            None if *doubt == Doubt::SendAgain => self.after_failure(counts, error, retry_after),
            None | Some(Recovery::AtMostOnce) => {
                self.dead(DeadReason::OutcomeUnknown, error.clone())
            }
            Some(Recovery::SameKey | Recovery::Repeatable) => {
                self.after_failure(counts, error, retry_after)
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
        let delay = failure.retry_after.unwrap_or(DEFERRAL).max(DEFERRAL_MIN);
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

    /// What the doubt about an effect makes of the next state. A handler that fails before it comes to ask is run again at
    /// the pace of its failures, and not more often than it has attempts.
    pub(super) fn in_doubt(
        &self,
        next: Next,
        doubt: Doubt,
        outcome: AttemptOutcome,
        counts: Counts,
    ) -> Next {
        let crash_loop =
            matches!(&next, Next::Dead(death) if death.reason == DeadReason::CrashLoop);
        match doubt {
            // A crash loop says by itself that an effect may have happened, and waits for a person.
            _ if crash_loop => next,
            Doubt::None | Doubt::SendAgain => next,
            Doubt::AskAt(_, error) if counts.failed > self.policy.attempts_max => {
                self.dead(DeadReason::OutcomeUnknown, error)
            }
            Doubt::AskAt(ask_at, error) => Next::Verifying {
                due_at: ask_at.max(pace(&next, outcome)),
                error,
            },
            Doubt::Person(error) => self.dead(DeadReason::OutcomeUnknown, error),
        }
    }

    /// A job of which one effect may have happened never ends as a failure or as withdrawn, whatever its later attempts
    /// said.
    pub(super) fn honest(&self, next: Next, counts: Counts) -> Next {
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

    /// Counts what may have happened, where a second effect would matter: the effects on record where there are any, else
    /// the attempts.
    pub(super) fn with_unknown(
        &self,
        outcome: AttemptOutcome,
        counts: Counts,
        effects: &[Effect],
    ) -> Counts {
        if !effects.is_empty() {
            let open = effects
                .iter()
                .filter(|effect| effect.is_open() && effect.terms.recovery.second_call_matters())
                .count();
            let unknown = u32::try_from(open).unwrap_or(u32::MAX);
            return Counts { unknown, ..counts };
        }
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

/// From when on an attempt that failed by itself, and not by an effect in doubt, is run again.
fn pace(next: &Next, outcome: AttemptOutcome) -> Timestamp {
    match (next, outcome) {
        (Next::Retrying { due_at, .. }, AttemptOutcome::Transient | AttemptOutcome::Released) => {
            *due_at
        }
        (
            Next::Pending { .. }
            | Next::Retrying { .. }
            | Next::Verifying { .. }
            | Next::Succeeded { .. }
            | Next::Dead(_)
            | Next::Cancelled { .. },
            _,
        ) => Timestamp::MIN,
    }
}
