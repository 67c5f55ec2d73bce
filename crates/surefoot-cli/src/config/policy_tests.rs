//! The policy of a dependency: its defaults, its faults, each at its place and all at once.

use std::time::Duration;

use surefoot_policy::Policy;
use surefoot_policy::breaker::BreakerMode;

use super::file::parse;

const NO_ENVIRONMENT: &dyn Fn(&str) -> Option<String> = &|_| None;

#[track_caller]
fn policy(more: &str) -> Policy {
    let text = format!("[dependency.psp]\nbase_url = 'http://h'\n{more}\n");
    let config =
        parse("f", &text, NO_ENVIRONMENT).unwrap_or_else(|faults| panic!("{:#?}", faults.lines()));
    super::schema_tests::valid(&text);
    config.dependencies[0].policy.clone()
}

#[track_caller]
fn refused(more: &str, expected: &[&str]) {
    let text = format!("[dependency.psp]\nbase_url = 'http://h'\n{more}\n");
    match parse("f", &text, NO_ENVIRONMENT) {
        Ok(config) => panic!("it loads: {config:#?}"),
        Err(unloadable) => assert_eq!(unloadable.lines(), expected, "{text}"),
    }
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn without_a_word_a_call_is_tried_once_and_the_rest_follows_from_its_time() {
    let standard = policy("");
    assert_eq!(standard.retry.attempts_max, 1);
    assert_eq!(
        (
            standard.timeout.connect,
            standard.timeout.attempt,
            standard.timeout.total
        ),
        (s(1), s(10), s(11))
    );
    assert_eq!(
        (standard.breaker.window, standard.breaker.probe_lease),
        (s(20), s(10))
    );
    assert_eq!(standard.explain().warnings, Vec::<String>::new());

    let slow = policy("attempt_timeout = '2m'");
    assert_eq!(
        (slow.breaker.window, slow.breaker.probe_lease),
        (s(240), s(120))
    );
    let slowest = policy("attempt_timeout = '45m'");
    assert_eq!(slowest.breaker.mode, BreakerMode::Disabled);
    let quick = policy("attempt_timeout = '2ms'");
    assert_eq!(quick.timeout.attempt_min, Duration::from_millis(2));
}

#[test]
fn every_part_of_a_policy_is_taken() {
    let read = policy(
        r#"
        criticality = "degradable"
        timeout = { connect = "250ms", attempt = "2s", total = "7s", attempt_min = "1ms" }
        retry = { attempts_max = 3, backoff = { base = "50ms", cap = "1s", jitter = "equal" } }
        budget.ratio = 0.2
        bulkhead = { limit = 8, queue_max = 4, queue_wait_max = "100ms" }
        shed.optional_at = 0.5
        rate = { calls = 100, per = "1s", burst = 10 }
        hedge = { after = "300ms" }
        adaptive = { limit_max = 200 }
        fallback = { kind = "stale", stale = { fresh = "1s" } }
        fault = { errors = 0.1 }
        [dependency.psp.breaker]
        mode = "metrics_only"
        slow_after = "800ms"
        "#,
    );
    let same: Policy = toml::from_str(&toml::to_string(&read).unwrap()).unwrap();
    assert_eq!(same, read);
    assert_eq!((read.bulkhead.limit, read.retry.attempts_max), (8, 3));
    assert_eq!(read.breaker.mode, BreakerMode::MetricsOnly);
    assert_eq!(read.timeout.total, s(7));
}

#[test]
fn every_fault_of_a_policy_is_told_at_its_place() {
    refused(
        r#"attempt_timeout = "2s"
criticality = "vital"
retry = { attempts_max = "3", backoff = { cap = "1s" } }
timeout = { attempt = "3s", connect = "1sec", totl = "9s" }
hedge = { percentile = 95 }
[dependency.psp.breaker]
windw = "3s"
calls_min = -1
qqqqqqqqq = 1
slow_after = 3
mode = "off"
[dependency.psp.rate]
calls = 3"#,
        &[
            "f:3:19: attempt_timeout and timeout.attempt say the same; keep one of them",
            r#"f:4:15: criticality "vital" is unknown; give one of: "optional", "degradable", "critical""#,
            r#"f:5:26: attempts_max is the text "3"; give a whole number of 0 or more"#,
            r#"f:5:41: backoff has neither base nor delays; add the first wait, such as base = "100ms""#,
            r#"f:6:39: connect: "1sec" is no duration; write for example "250ms", "10s", "42m30s" or "1h""#,
            r#"f:6:47: unknown key "totl" in [dependency.psp.timeout]; did you mean "total"?"#,
            "f:7:9: [dependency.psp.hedge] has no after; add after = ..., or remove [dependency.psp.hedge]",
            r#"f:9:1: unknown key "windw" in [dependency.psp.breaker]; did you mean "window"?"#,
            "f:10:13: calls_min is the whole number -1; give a whole number of 0 or more",
            concat!(
                r#"f:11:1: unknown key "qqqqqqqqq" in [dependency.psp.breaker]; remove it; known here: mode, window, calls_min, "#,
                "failure_ratio, consecutive_failures, slow_after, slow_ratio, open_for, open_for_max, open_jitter, ",
                "stable_after, probes, successes_to_close, probe_lease, ramp"
            ),
            r#"f:12:14: slow_after is the whole number 3; give a duration in quotes, such as "10s""#,
            r#"f:13:8: mode "off" is unknown; give one of: "on", "metrics_only", "disabled""#,
            "f:14:1: [dependency.psp.rate] has no per; add per = ..., or remove [dependency.psp.rate]",
        ],
    );
}

#[test]
fn what_does_not_go_together_is_told_at_the_key_that_is_named_first() {
    refused(
        "criticality = 'optional'\nbulkhead.limit = 0\ntimeout = { attempt = '30s', total = '20s' }\n\
         breaker = { window = '10s', failure_ratio = 2 }\nhedge = { after = '31s' }",
        &[
            "f:3:15: criticality is optional, but there is no fallback to serve without it; name fallback.kind, or make \
             it critical",
            "f:4:18: bulkhead.limit 0 is not within 1 and 1048576: with 0 every call would wait for ever; give 256",
            "f:5:23: timeout.attempt 30s is above total 20s, so it would never fire; lower attempt or raise total",
            "f:6:22: breaker.window 10s is shorter than twice timeout.attempt 30s, so it could not hold enough time-outs; \
             raise the window or lower the time-out",
            "f:6:45: breaker.failure_ratio 2 is not above 0 and at most 1; give 0.5 for one half",
            "f:7:19: hedge.after 31s is not below timeout.attempt 30s, so no second copy would ever leave; lower it",
        ],
    );
}

/// A derived text form would take a list for a table, and see a date as a table of its own.
#[test]
fn what_stands_in_the_place_of_a_table_is_told() {
    refused(
        "retry = []\nbreaker = 1979-05-27\nfallback = { kind = 'stale', stale = ['1s'] }\nhedge = 3",
        &[
            "f:3:9: retry is a list; give a table",
            "f:4:11: breaker is a date; give a table",
            "f:5:38: stale is a list; give a table",
            "f:6:9: hedge is the whole number 3; give a table",
        ],
    );
}
