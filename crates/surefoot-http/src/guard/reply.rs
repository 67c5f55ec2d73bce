//! What a client is told that does not get to run its request. It says what is known and no more.

use axum::body::Body;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use jiff::SignedDuration;
use jiff::civil::DateTime;
use surefoot_core::request::{Arrived, StoredResponse, Tombstone};
use surefoot_core::time::Timestamp;

use crate::mark::{self, Status};
use crate::problem::{
    INTERNAL, KEY_REUSED, OUTCOME_UNKNOWN, OUTSTANDING, Problem, ProblemTypes, RESULT_EXPIRED,
    RESULT_NOT_KEPT,
};

/// The answer to somebody whose request does not run.
pub(super) fn to(arrived: Arrived, types: &ProblemTypes) -> Response<Body> {
    let (problem, status) = match arrived {
        Arrived::Replay { response, .. } => return replay(*response, types),
        // A claim is carried out, and never answered from here.
        Arrived::Run(_) => (Problem::new(&INTERNAL, "a claim was not carried out"), None),
        Arrived::NotKept {
            tombstone,
            finished_at,
        } => (not_kept(&tombstone, finished_at), Some(Status::Replayed)),
        Arrived::Gone {
            finished_at,
            status,
        } => (gone(finished_at, status), Some(Status::Replayed)),
        Arrived::Mismatch { fields } => {
            let problem = Problem::new(
                &KEY_REUSED,
                "the key belongs to another request; for another intent make another key",
            );
            (problem.with("fields", fields), None)
        }
        Arrived::Running { retry_after } => {
            let problem = Problem::new(&OUTSTANDING, "ask again for its answer under the same key");
            (problem.retry_after(Some(retry_after)), None)
        }
        Arrived::UnknownOutcome { since, retry_after } => {
            let problem = unknown().with("since", rfc3339(since));
            (problem.retry_after(retry_after), None)
        }
    };
    problem.response(types, status)
}

/// Whether it happened is not known.
pub(super) fn unknown() -> Problem {
    Problem::new(
        &OUTCOME_UNKNOWN,
        "it may have happened. Do not send it under another key; ask again under this one",
    )
}

fn replay(stored: StoredResponse, types: &ProblemTypes) -> Response<Body> {
    let Ok(status) = StatusCode::from_u16(stored.status) else {
        return Problem::new(&INTERNAL, "the stored answer has no status").response(types, None);
    };
    let mut response = Response::new(Body::from(stored.body));
    *response.status_mut() = status;
    for (name, value) in stored.headers {
        let pair = (HeaderName::try_from(name), HeaderValue::try_from(value));
        if let (Ok(name), Ok(value)) = pair {
            response.headers_mut().append(name, value);
        }
    }
    mark::write(response.headers_mut(), Some(Status::Replayed), None);
    response
}

fn not_kept(tombstone: &Tombstone, finished_at: Timestamp) -> Problem {
    let problem = Problem::new(
        &RESULT_NOT_KEPT,
        "it happened once and does not happen again; read its result where the service keeps it",
    )
    .with("original_status", tombstone.status)
    .with("reason", tombstone.why.as_str())
    .with("finished_at", rfc3339(finished_at));
    let problem = match tombstone.body_bytes {
        Some(bytes) => problem.with("body_bytes", bytes),
        None => problem,
    };
    match tombstone.body_sha256 {
        Some(digest) => problem.with("body_sha256", hex(&digest)),
        None => problem,
    }
}

fn gone(finished_at: Timestamp, status: u16) -> Problem {
    Problem::new(
        &RESULT_EXPIRED,
        "it happened once and does not happen again; the time for which its answer is kept is over",
    )
    .with("original_status", status)
    .with("finished_at", rfc3339(finished_at))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 3339 in UTC, to the second.
fn rfc3339(at: Timestamp) -> String {
    let since = SignedDuration::from_micros(at.as_micros());
    let time = DateTime::constant(1970, 1, 1, 0, 0, 0, 0).saturating_add(since);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(
                rfc3339(Timestamp::from_micros(seconds * 1_000_000)),
                expected
            );
        }
    }
}
