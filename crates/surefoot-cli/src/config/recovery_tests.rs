//! What a kind may say about an unknown outcome, and what contradicts itself.

use std::time::Duration;

use reqwest::Method;
use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::effect::VerifyPlan;
use surefoot_core::id::Kind;

use super::file::parse;
use super::recovery::{CallRecovery, Verification};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn text(recovery: &str, more: &str) -> String {
    format!(
        "[dependency.psp]\nbase_url = 'http://h'\nattempt_timeout = '10s'\n[job.refund]\ndependency = 'psp'\n\
         request = {{ path = '/refunds' }}\nrecovery = {recovery}\n{more}\n"
    )
}

#[track_caller]
fn recovery(recovery: &str) -> CallRecovery {
    let text = text(recovery, "");
    let config =
        parse("f", &text, &|_| None).unwrap_or_else(|faults| panic!("{:#?}", faults.lines()));
    super::schema_tests::valid(&text);
    let kind = &config.kinds[&Kind::new("refund").unwrap()];
    assert_eq!(kind.policy.recovery, None, "the effect knows it");
    kind.request.as_ref().unwrap().recovery.clone()
}

#[track_caller]
fn refused(recovery: &str, more: &str, expected: &[&str]) {
    match parse("f", &text(recovery, more), &|_| None) {
        Ok(config) => panic!("it loads: {config:#?}"),
        Err(unloadable) => assert_eq!(unloadable.lines(), expected, "{recovery}"),
    }
}

#[test]
fn every_form_is_read() {
    let table = [
        ("'same_key'", CallRecovery::SameKey { ttl: None }),
        (
            "{ same_key = { ttl = '24h' } }",
            CallRecovery::SameKey {
                ttl: Some(s(86_400)),
            },
        ),
        ("'at_most_once'", CallRecovery::AtMostOnce),
        ("'repeatable'", CallRecovery::Repeatable),
    ];
    for (text, expected) in table {
        assert_eq!(recovery(text), expected, "{text}");
    }
    let short = recovery(
        "{ verify = { path = '/refunds/{key}', happened = [200], did_not_happen = [404, 410] }, settles_within = '60s' }",
    );
    let expected = Verification {
        method: Method::GET,
        path: "/refunds/{key}".to_owned(),
        happened: vec![200],
        did_not_happen: vec![404, 410],
        settles_within: s(60),
        plan: VerifyPlan::default(),
    };
    assert_eq!(short, CallRecovery::Verify(expected.clone()));
    let long = recovery(
        "{ verify = { method = 'HEAD', path = '/r?of={key}', happened = [204], did_not_happen = [404] }, \
         settles_within = '60s', ask_every = ['1s', '5s'], asks_max = 3, give_up_after = '1h' }",
    );
    let expected = Verification {
        method: Method::HEAD,
        path: "/r?of={key}".to_owned(),
        happened: vec![204],
        did_not_happen: vec![404],
        plan: VerifyPlan {
            backoff: Backoff::List {
                delays: vec![s(1), s(5)],
                jitter: Jitter::Fraction(0.25),
            },
            asks_max: 3,
            give_up_after: s(3600),
        },
        ..expected
    };
    assert_eq!(long, CallRecovery::Verify(expected));
}

#[test]
fn a_call_with_its_queue_is_never_longer_than_the_attempt_of_its_job() {
    let text = text("'at_most_once'", "timeout = '10s'\nlease = '10500ms'");
    let config = parse("f", &text, &|_| None).unwrap_or_else(|f| panic!("{:#?}", f.lines()));
    let request = config.kinds[&Kind::new("refund").unwrap()].request.clone();
    let request = request.unwrap();
    assert_eq!(request.dependency.policy.timeout.total, s(11));
    assert_eq!(request.call_max, s(10), "the lease has no room for more");
}

#[test]
fn what_is_missing_or_wrong_is_told_with_what_to_do() {
    let table: &[(&str, &[&str])] = &[
        (
            "7",
            &[concat!(
                r#"f:7:12: recovery is neither a text nor a table; give "same_key" (the provider deduplicates by key), "#,
                r#""at_most_once" (never send again) or "repeatable" (twice does no harm), or { verify = { path = "#,
                r#""/sent/{key}", happened = [200], did_not_happen = [404] }, settles_within = "60s" } (ask the provider)"#
            )],
        ),
        (
            "{ same_key = {}, tll = 1 }",
            &[
                "f:7:14: [job.refund.recovery.same_key] has no ttl; add how long the provider keeps a key, such as ttl = \
                 \"24h\"; recovery = \"same_key\" means for ever",
                r#"f:7:29: unknown key "tll" in [job.refund.recovery]; remove it; known here: same_key, verify"#,
            ],
        ),
        (
            "{ verify = { path = '/refunds', happened = [], did_not_happen = [404, 999], metod = 'GET' } }",
            &[
                "f:7:1: [job.refund.recovery] has no settles_within; add how long after it left a request can still take \
                 effect, such as settles_within = \"60s\": an earlier \"did not happen\" proves nothing",
                r#"f:7:32: path "/refunds" asks about no call in particular; put {key} where the provider key goes"#,
                "f:7:55: happened has 0 entries; give 1 to 50 statuses",
                "f:7:76: did_not_happen has 999; give statuses from 100 to 599",
                r#"f:7:88: unknown key "metod" in [job.refund.recovery.verify]; did you mean "method"?"#,
            ],
        ),
        (
            "{ verify = { method = 'POST', path = '/r/{key}', happened = [200, 404], did_not_happen = [404] }, settles_within = '60s' }",
            &[
                r#"f:7:34: method "POST" is none for a question, which must change nothing; use one of: GET, HEAD"#,
                "f:7:101: job.refund.recovery.verify.did_not_happen: the status 404 says that it happened and that it did not; name it in one of the two lists",
            ],
        ),
        (
            "{ verify = { path = '/r/{key}', happened = [200], did_not_happen = [404] }, same_key = { ttl = '1d' } }",
            &["f:7:1: [job.refund.recovery] has same_key and verify; keep one of them"],
        ),
    ];
    for (recovery, expected) in table {
        refused(recovery, "", expected);
    }
}

#[test]
fn what_contradicts_the_times_is_told_with_what_to_do() {
    refused(
        "{ verify = { path = '/r/{key}', happened = [200], did_not_happen = [404] }, settles_within = '5s', give_up_after = '4s' }",
        "",
        &[
            "f:7:12: recovery: settles_within 5s is shorter than the time-out 11s: a call can take effect until its time-out \
             at least; raise settles_within",
            "f:7:12: recovery: give_up_after 4s is not longer than settles_within 5s, so \"did not happen\" could never count; \
             raise give_up_after",
        ],
    );
    refused(
        "{ same_key = { ttl = '10m' } }",
        "attempts_max = 2\ncrashes_max = 1\nbackoff = ['10m']\njitter = 'none'",
        &[
            "f:7:12: recovery: the attempts of a job may go on for 10m43s and the provider keeps keys for 10m, so the last \
             ones could not be sent; lower attempts_max or the backoff, give a deadline, or ask the provider by verify",
        ],
    );
}
