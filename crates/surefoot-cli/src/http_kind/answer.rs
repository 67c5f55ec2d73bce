//! What an answer means: 2xx ends the job with the body as its result; anything else is classified by core, with
//! what the kind's recovery allows. A body is never trusted to change what the status says.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use surefoot_core::classify::{self, Certainty, Class, HttpClass};
use surefoot_core::failure::Failure;
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::retry_after;
use surefoot_core::time::Timestamp;

use super::body::{Body, REFUSAL_BYTES_MAX};

/// The longest that an answer may keep a job waiting.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The job's result, from the body of a 2xx answer: JSON as it came, other text as a JSON string, nothing as `null`.
/// A body beyond [`PAYLOAD_BYTES_MAX`](surefoot_core::payload::PAYLOAD_BYTES_MAX) is left out, and the result says so: the
/// work is done all the same.
pub(super) fn result(status: StatusCode, body: Body) -> Payload {
    if body.truncated {
        return left_out(status, body.bytes.len());
    }
    let text = String::from_utf8_lossy(&body.bytes);
    if text.trim().is_empty() {
        return Payload::null();
    }
    Payload::parse(text.as_ref())
        .or_else(|_| Payload::from_serialize(text.as_ref()))
        .unwrap_or_else(|_| left_out(status, body.bytes.len()))
}

fn left_out(status: StatusCode, bytes: usize) -> Payload {
    let note =
        serde_json::json!({ "truncated": true, "status": status.as_u16(), "bytes_min": bytes });
    Payload::from_serialize(&note).unwrap_or_else(|_| Payload::null())
}

/// What an answer outside 2xx means under this recovery.
pub(super) fn refusal(
    dependency: &str,
    recovery: Recovery,
    status: StatusCode,
    headers: &HeaderMap,
    body: &Body,
    now: Timestamp,
) -> Failure {
    let text = text(dependency, status, body);
    let wait = wait(headers, now);
    let keyed = recovery == Recovery::SameKey;
    let class = if keyed {
        classify::http_status_keyed(status.as_u16(), wait.is_some())
    } else {
        classify::http_status(status.as_u16())
    };
    let in_progress = keyed && status == StatusCode::CONFLICT;
    match (class, wait) {
        (
            Some(HttpClass {
                class: Class::Transient,
                ..
            }),
            Some(wait),
        ) if in_progress || status == StatusCode::TOO_MANY_REQUESTS => {
            Failure::rate_limited(wait, text)
        }
        (Some(HttpClass { class, certainty }), wait) => {
            classified(class, certainty, recovery, wait, text)
        }
        (None, _) => Failure::unknown(text),
    }
}

fn classified(
    class: Class,
    certainty: Certainty,
    recovery: Recovery,
    wait: Option<Duration>,
    text: String,
) -> Failure {
    let perhaps_applied = !certainty.is_harmless();
    match (class, recovery) {
        // Where a second effect matters, what may have happened is never told as a failure.
        (Class::Transient | Class::Permanent, Recovery::SameKey | Recovery::AtMostOnce)
            if perhaps_applied =>
        {
            Failure::unknown(text)
        }
        (Class::Transient, _) => match wait {
            Some(wait) => Failure::retry_after(wait, text),
            None => Failure::transient(text),
        },
        (Class::Permanent, _) => Failure::permanent(text),
        (Class::Unknown, _) => Failure::unknown(text),
        (Class::Cancelled, _) => Failure::cancelled(text),
    }
}

/// How long the answer asks to stay away; a zero asks for no more than the backoff.
fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let sent_at = headers
        .get(DATE)
        .and_then(|date| date.to_str().ok())
        .and_then(date_of);
    let wait = retry_after::parse(value, sent_at.unwrap_or(now))?;
    Some(wait.min(RETRY_AFTER_MAX)).filter(|wait| !wait.is_zero())
}

/// The moment of an HTTP date: how far it is from 1970.
fn date_of(date: &str) -> Option<Timestamp> {
    let is_seconds = date.bytes().all(|byte| byte.is_ascii_digit());
    let since = retry_after::parse(date, Timestamp::MIN)?;
    (!is_seconds).then(|| Timestamp::MIN.after(since))
}

fn text(dependency: &str, status: StatusCode, body: &Body) -> String {
    let said = String::from_utf8_lossy(&body.bytes[..body.bytes.len().min(REFUSAL_BYTES_MAX)]);
    let redirect = if status.is_redirection() {
        "; redirects are not followed"
    } else {
        ""
    };
    match said.trim() {
        "" => format!("{dependency} answered {status}{redirect}"),
        said => format!("{dependency} answered {status}{redirect}: {said}"),
    }
}

#[cfg(test)]
mod tests;
