//! What an answer means: 2xx ends the job with the body as its result; anything else is classified by core, with
//! what the kind's recovery allows. A body is never trusted to change what the status says.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use surefoot_core::classify::{self, Certainty, Class, HttpClass};
use surefoot_core::failure::Failure;
use surefoot_core::payload::{PAYLOAD_BYTES_MAX, Payload};
use surefoot_core::policy::Recovery;
use surefoot_core::retry_after;
use surefoot_core::time::Timestamp;

/// How much of a refusal's body is kept for people.
const REFUSAL_BYTES_MAX: usize = 2 * 1024;
/// The longest that an answer may keep a job waiting.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The job's result, from the body of a 2xx answer: JSON as it came, other text as a JSON string, nothing as `null`.
/// A body beyond [`PAYLOAD_BYTES_MAX`] is left out, and the result says so: the work is done all the same.
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

/// As much of a body as may be kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    bytes: Vec<u8>,
    /// There was more.
    truncated: bool,
}

impl Body {
    /// Reads the body of an answer: up to a payload for a success, a little for a refusal.
    pub(super) async fn read(response: &mut Response) -> reqwest::Result<Self> {
        let bytes_max = if response.status().is_success() {
            PAYLOAD_BYTES_MAX
        } else {
            REFUSAL_BYTES_MAX
        };
        let mut body = Self::default();
        while let Some(chunk) = response.chunk().await? {
            let room = bytes_max - body.bytes.len();
            if chunk.len() > room {
                body.bytes.extend_from_slice(&chunk[..room]);
                body.truncated = true;
                break;
            }
            body.bytes.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Body {
        Body {
            bytes: text.as_bytes().to_vec(),
            truncated: false,
        }
    }

    #[test]
    fn a_body_becomes_the_result() {
        let table = [
            (
                r#" {"b":9007199254740993,"a":1.0} "#,
                r#" {"b":9007199254740993,"a":1.0} "#,
            ),
            ("[]", "[]"),
            ("", "null"),
            (" \r\n", "null"),
            ("ok", "\"ok\""),
            (r#"{"a":1,"a":2}"#, r#""{\"a\":1,\"a\":2}""#),
            ("a\0b", "\"a\\u0000b\""),
        ];
        for (text, expected) in table {
            assert_eq!(
                result(StatusCode::OK, body(text)).as_str(),
                expected,
                "{text}"
            );
        }
        let bytes = Body {
            bytes: vec![0xff, b'a'],
            truncated: false,
        };
        assert_eq!(result(StatusCode::OK, bytes).as_str(), "\"\u{fffd}a\"");
    }

    #[test]
    fn a_body_that_is_too_large_is_left_out_of_a_success() {
        let truncated = Body {
            bytes: vec![b'x'; 10],
            truncated: true,
        };
        let expected = r#"{"bytes_min":10,"status":201,"truncated":true}"#;
        assert_eq!(result(StatusCode::CREATED, truncated).as_str(), expected);
        let grows = Body {
            bytes: vec![0; PAYLOAD_BYTES_MAX],
            truncated: false,
        };
        let expected = r#"{"bytes_min":1048576,"status":200,"truncated":true}"#;
        assert_eq!(result(StatusCode::OK, grows).as_str(), expected);
    }

    /// class, put off, wait in seconds.
    type Meaning = (Class, bool, Option<u64>);

    fn meaning(status: u16, retry_after: Option<&str>, recovery: Recovery) -> Meaning {
        let mut headers = HeaderMap::new();
        if let Some(value) = retry_after {
            headers.insert(RETRY_AFTER, value.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        let failure = refusal(
            "mail",
            recovery,
            status,
            &headers,
            &Body::default(),
            Timestamp::MIN,
        );
        (
            failure.class,
            failure.put_off,
            failure.retry_after.map(|wait| wait.as_secs()),
        )
    }

    #[test]
    fn a_status_means_what_the_recovery_allows() {
        use Class::{Permanent, Transient, Unknown};
        use Recovery::{AtMostOnce, Repeatable, SameKey};
        let table = [
            (400, None, [(Permanent, false, None); 3]),
            (404, Some("5"), [(Permanent, false, None); 3]),
            (409, None, [(Permanent, false, None); 3]),
            (
                409,
                Some("5"),
                [
                    (Transient, true, Some(5)),
                    (Permanent, false, None),
                    (Permanent, false, None),
                ],
            ),
            (429, None, [(Transient, false, None); 3]),
            (429, Some("37"), [(Transient, true, Some(37)); 3]),
            (429, Some("0"), [(Transient, false, None); 3]),
            (429, Some("soon"), [(Transient, false, None); 3]),
            (503, None, [(Transient, false, None); 3]),
            (503, Some("37"), [(Transient, false, Some(37)); 3]),
            (
                503,
                Some("99999999999999999999"),
                [(Transient, false, Some(86_400)); 3],
            ),
            (
                500,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, None),
                ],
            ),
            (
                502,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, None),
                ],
            ),
            (
                504,
                Some("9"),
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, Some(9)),
                ],
            ),
            (
                303,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Permanent, false, None),
                ],
            ),
            (
                101,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, None),
                ],
            ),
            (
                300,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Permanent, false, None),
                ],
            ),
            (
                302,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Permanent, false, None),
                ],
            ),
            (
                507,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, None),
                ],
            ),
            (
                599,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, None),
                ],
            ),
            (
                600,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, None),
                ],
            ),
            (
                999,
                None,
                [
                    (Unknown, false, None),
                    (Unknown, false, None),
                    (Transient, false, None),
                ],
            ),
            (501, None, [(Permanent, false, None); 3]),
            (408, None, [(Transient, false, None); 3]),
            (307, None, [(Permanent, false, None); 3]),
        ];
        for (status, retry_after, expected) in table {
            for (recovery, expected) in [SameKey, AtMostOnce, Repeatable].into_iter().zip(expected)
            {
                assert_eq!(
                    meaning(status, retry_after, recovery),
                    expected,
                    "{status} {retry_after:?} {recovery:?}"
                );
            }
        }
    }

    #[test]
    fn a_date_is_measured_by_the_other_ends_clock() {
        let mut headers = HeaderMap::new();
        headers.insert(
            RETRY_AFTER,
            "Sun, 06 Nov 1994 08:50:07 GMT".parse().unwrap(),
        );
        headers.insert(DATE, "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
        assert_eq!(
            wait(&headers, Timestamp::MIN),
            Some(Duration::from_secs(30))
        );
        headers.insert(DATE, "12345".parse().unwrap());
        let now = Timestamp::from_micros(784_111_777_000_000);
        assert_eq!(wait(&headers, now), Some(Duration::from_secs(30)));
    }

    #[test]
    fn the_text_quotes_the_answer_and_is_bounded() {
        let text = text("mail", StatusCode::SEE_OTHER, &body(" gone\n"));
        assert_eq!(
            text,
            "mail answered 303 See Other; redirects are not followed: gone"
        );
        let long = super::text(
            "mail",
            StatusCode::BAD_REQUEST,
            &body(&"x".repeat(1_000_000)),
        );
        assert_eq!(
            long.len(),
            "mail answered 400 Bad Request: ".len() + REFUSAL_BYTES_MAX
        );
    }
}
