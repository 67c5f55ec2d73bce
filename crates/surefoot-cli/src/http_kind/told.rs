//! What a call that failed means for its job. A call that a guard turned away puts the job off; what may have been applied
//! by any of its sends stays so, whatever the last one said.

use std::time::Duration;

use surefoot_core::classify::{Certainty, Class};
use surefoot_core::failure::Failure;
use surefoot_core::timeouts::TimeoutKind;
use surefoot_policy::CallError;
use surefoot_policy::error::{AttemptRecord, Kind, Rejection};
use surefoot_policy::retry::Suppressed;

use super::broken::Broken;
use super::fault;
use crate::config::{Dependency, duration};

/// The failure of a job whose call ended so. `second_call_matters` as its recovery says.
pub(super) fn failure(
    dependency: &Dependency,
    second_call_matters: bool,
    error: CallError<Broken>,
) -> Failure {
    let name = dependency.name.as_str();
    if let Kind::Rejected(rejection) = error.kind() {
        return put_off(name, rejection, error.put_off_for());
    }
    let (certainty, suppressed) = (error.certainty(), error.suppressed());
    let story = story(error.attempts(), suppressed);
    let last = match error.kind() {
        Kind::TimedOut(limit) => {
            let within = match limit {
                TimeoutKind::Attempt => dependency.policy.timeout.attempt,
                TimeoutKind::Connect | TimeoutKind::Job | TimeoutKind::Deadline => {
                    last_took(&error)
                }
            };
            fault::too_slow(name, limit, within)
        }
        Kind::Injected(injected) => Failure::transient(format!(
            "{name}: an injected {} (see [dependency.{name}.fault])",
            injected.as_str()
        )),
        Kind::Failed | Kind::Rejected(_) => error.into_last().map_or_else(
            || Failure::unknown(format!("{name}: no answer")),
            |last| last.failure,
        ),
    };
    together(last, certainty, second_call_matters, suppressed, &story)
}

fn last_took<E>(error: &CallError<E>) -> Duration {
    error
        .attempts()
        .last()
        .map_or(Duration::ZERO, |attempt| attempt.took)
}

/// The last failure, in the light of what all sends together may have done.
fn together(
    last: Failure,
    certainty: Certainty,
    second_call_matters: bool,
    suppressed: Option<Suppressed>,
    story: &str,
) -> Failure {
    let harmless = certainty.is_harmless();
    let text = format!("{}{story}", last.text);
    let class = match last.class {
        // An earlier send may have been applied: a later refusal does not undo it. A service that still works on the first
        // one says when to come back under the same key.
        Class::Transient | Class::Permanent
            if !harmless && second_call_matters && !last.put_off =>
        {
            Class::Unknown
        }
        class => class,
    };
    let failure = match class {
        Class::Unknown => Failure::unknown(text),
        Class::Permanent => Failure::permanent(text),
        Class::Cancelled => Failure::cancelled(text),
        Class::Transient
            if last.put_off || (harmless && suppressed == Some(Suppressed::Budget)) =>
        {
            turned_away(last.retry_after, text)
        }
        Class::Transient => match last.retry_after {
            Some(wait) => Failure::retry_after(wait, text),
            None => Failure::transient(text),
        },
    };
    match certainty {
        Certainty::NotSent => failure.not_sent(),
        Certainty::Rejected => failure.rejected(),
        Certainty::MaybeApplied | Certainty::Applied => failure.maybe_applied(),
    }
}

/// Nothing was sent: the job comes back when the guard said, and no attempt is used up.
fn put_off(name: &str, rejection: Rejection, after: Option<Duration>) -> Failure {
    let text = format!(
        "{name}: not called, nothing was sent: {}",
        rejection.as_str()
    );
    turned_away(after, text).not_sent()
}

fn turned_away(after: Option<Duration>, text: String) -> Failure {
    match after {
        Some(wait) => Failure::rate_limited(wait, text),
        None => Failure::put_off(text),
    }
}

/// What became of each send, where there was more than one or the policy stopped short of another.
fn story(attempts: &[AttemptRecord], suppressed: Option<Suppressed>) -> String {
    let stopped = suppressed.filter(|suppressed| match suppressed {
        Suppressed::Budget
        | Suppressed::Deadline
        | Suppressed::RetryAfterExceedsDeadline
        | Suppressed::Guard => true,
        Suppressed::Permanent
        | Suppressed::Cancelled
        | Suppressed::NotRepeatable
        | Suppressed::BodyConsumed
        | Suppressed::Attempts
        | Suppressed::Owner => false,
    });
    if attempts.len() < 2 && stopped.is_none() {
        return String::new();
    }
    let sends: Vec<String> = attempts.iter().map(send).collect();
    let stopped = stopped
        .map(|suppressed| format!("; no further send: {}", suppressed.as_str()))
        .unwrap_or_default();
    format!(" (sends: {}{stopped})", sends.join(", "))
}

fn send(attempt: &AttemptRecord) -> String {
    let how = match attempt.kind {
        Kind::TimedOut(limit) => format!("{limit}"),
        Kind::Injected(injected) => format!("injected {}", injected.as_str()),
        Kind::Failed => "failed".to_owned(),
        Kind::Rejected(rejection) => rejection.as_str().to_owned(),
    };
    format!(
        "{} {how} after {}, {}",
        attempt.number,
        duration::written(attempt.took),
        attempt.certainty
    )
}
