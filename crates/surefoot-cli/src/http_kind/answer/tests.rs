//! Answers beside what they mean.

use surefoot_core::payload::PAYLOAD_BYTES_MAX;

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
        for (recovery, expected) in [SameKey, AtMostOnce, Repeatable].into_iter().zip(expected) {
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
