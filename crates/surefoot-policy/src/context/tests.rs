//! Context in the task and on the wire.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::*;
use crate::clock::Moment;

const NOW: Moment = Moment::from_nanos(1 << 44);

type Pairs = &'static [(&'static str, &'static str)];

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    pairs.iter().map(pair).collect()
}

#[test]
fn the_narrowest_time_out_of_the_caller_counts() {
    let table: [(Pairs, Option<u64>); 7] = [
        (&[], None),
        (&[("x-request-timeout-ms", "1500")], Some(1500)),
        (&[("grpc-timeout", "2S")], Some(2000)),
        (&[("grpc-timeout", "99999999m")], Some(99_999_999)),
        (
            &[
                ("x-envoy-expected-rq-timeout-ms", "70"),
                ("grpc-timeout", "1H"),
            ],
            Some(70),
        ),
        (
            &[
                ("x-request-timeout-ms", "10"),
                ("x-envoy-expected-rq-timeout-ms", "70"),
            ],
            Some(10),
        ),
        (&[("x-request-timeout-ms", "0")], Some(0)),
    ];
    for (pairs, millis) in table {
        let expected = millis.map(|millis| NOW.after(Duration::from_millis(millis)));
        assert_eq!(
            headers::read(&headers(pairs), NOW).unwrap().deadline,
            expected,
            "{pairs:?}"
        );
    }
}

#[test]
fn a_malformed_header_is_told() {
    for text in [
        "",
        "+5S",
        "-5S",
        "5",
        "S",
        "123456789S",
        "5s",
        " 5S",
        "5 S",
        "1.5S",
        "5é",
    ] {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("grpc-timeout"),
            HeaderValue::from_str(text).unwrap(),
        )]);
        assert_eq!(
            headers::read(&headers, NOW),
            Err(headers::Malformed("grpc-timeout")),
            "{text:?}"
        );
    }
    for text in ["-1", "+1", "1s", "", "1234567890123", "1e3"] {
        for name in [
            "x-request-timeout-ms",
            "x-retry-attempt",
            "x-envoy-attempt-count",
            "grpc-previous-rpc-attempts",
        ] {
            let headers = HeaderMap::from_iter([(
                HeaderName::from_static(name),
                HeaderValue::from_str(text).unwrap(),
            )]);
            assert_eq!(
                headers::read(&headers, NOW),
                Err(headers::Malformed(name)),
                "{text:?}"
            );
        }
    }
}

#[test]
fn an_owner_or_a_later_attempt_on_the_wire_turns_retries_off() {
    let table: [(Pairs, Option<u32>); 8] = [
        (&[("x-retry-owner", "gateway")], Some(1)),
        (
            &[("x-retry-owner", "gateway"), ("x-retry-attempt", "3")],
            Some(3),
        ),
        (&[("x-retry-attempt", "2")], Some(2)),
        (&[("x-envoy-attempt-count", "1")], None),
        (&[("x-envoy-attempt-count", "2")], Some(2)),
        (&[("grpc-previous-rpc-attempts", "0")], None),
        (&[("grpc-previous-rpc-attempts", "1")], Some(2)),
        (&[("x-retry-owner", "a"), ("x-retry-attempt", "0")], Some(1)),
    ];
    for (pairs, attempt) in table {
        let read = headers::read(&headers(pairs), NOW).unwrap();
        assert_eq!(read.outer.map(|outer| outer.attempt), attempt, "{pairs:?}");
    }
}

#[test]
fn what_is_written_is_rounded_down_and_replaces_what_stood_there() {
    let owner = HeaderValue::from_static("api");
    let mut map = headers(&[
        ("x-request-timeout-ms", "99999"),
        ("x-retry-owner", "old"),
        ("x-retry-attempt", "9"),
    ]);
    let ambient = Ambient::new(
        Some(NOW.after(Duration::from_micros(1_999))),
        Some(Outer { attempt: 2 }),
    );
    assert!(headers::write(&mut map, &ambient, &owner, NOW));
    assert_eq!(
        map,
        headers(&[
            ("x-request-timeout-ms", "1"),
            ("x-retry-owner", "api"),
            ("x-retry-attempt", "2")
        ])
    );
    let late = NOW.after(Duration::from_micros(1_000));
    assert!(
        !headers::write(&mut map, &ambient, &owner, late),
        "less than a millisecond is not sent as 0"
    );
    assert!(headers::write(&mut map, &Ambient::default(), &owner, NOW));
    assert!(map.is_empty());
}

#[test]
fn a_grpc_timeout_has_at_most_eight_digits_and_never_grows() {
    let table = [
        (Duration::from_nanos(99_999_999), Some("99999999n")),
        (Duration::from_millis(100), Some("100000u")),
        (Duration::from_secs(100), Some("100000m")),
        (Duration::from_secs(99_999_999), Some("99999999S")),
        (Duration::from_secs(100_000_000), Some("1666666M")),
        (Duration::ZERO, None),
        (Duration::MAX, Some("99999999H")),
    ];
    for (left, text) in table {
        assert_eq!(
            headers::grpc_timeout_text(left).as_deref(),
            text,
            "{left:?}"
        );
    }
}

#[test]
fn a_deadline_is_narrowed_and_never_widened_and_ends_with_its_scope() {
    let far = Ambient::default().narrowed(Moment::from_nanos(100));
    assert_eq!(far.narrowed(Moment::from_nanos(200)), far);
    let near = far.narrowed(Moment::from_nanos(50));
    far.enter(|| {
        near.enter(|| assert_eq!(Ambient::current(), near));
        assert_eq!(Ambient::current(), far);
    });
    assert_eq!(Ambient::current(), Ambient::default());
    let panicked = std::panic::catch_unwind(|| near.enter(|| panic!("inside")));
    assert!(panicked.is_err());
    assert_eq!(Ambient::current(), Ambient::default());
}

#[tokio::test]
async fn two_calls_in_one_task_do_not_share_a_context() {
    let seen = |nanos| {
        Ambient::default()
            .narrowed(Moment::from_nanos(nanos))
            .scope(async {
                tokio::task::yield_now().await;
                Ambient::current().deadline.map(Moment::as_nanos)
            })
    };
    assert_eq!(tokio::join!(seen(1), seen(2)), (Some(1), Some(2)));
}
