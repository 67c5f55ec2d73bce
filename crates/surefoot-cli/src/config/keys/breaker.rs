//! `breaker` of a policy: when a service is not called at all.

use surefoot_policy::breaker::{BreakerOptions, PROBES_MAX};

use super::node::section;
use super::policy::{TIME, TIME_OR_ZERO, number, share, whole};
use super::shape::{Key, Shape};

pub(super) fn key(standard: &BreakerOptions) -> Key {
    let mut keys = opens(standard);
    keys.extend(stays_open(standard));
    keys.extend(closes(standard));
    section("breaker", "When the service is not called at all.", keys)
}

fn opens(standard: &BreakerOptions) -> Vec<Key> {
    vec![
        Key::new(
            "mode",
            Shape::Words(vec!["on", "metrics_only", "disabled"]),
            "`\"metrics_only\"` counts and lets every call pass; `\"disabled\"` does not count.",
        )
        .or("on"),
        Key::new(
            "window",
            TIME,
            "How far back the ratios look: 10ms to 1h, at least twice `timeout.attempt`. Without it 10s, or that if it is \
             more.",
        ),
        Key::new(
            "calls_min",
            whole(1, u32::MAX),
            "How many calls the window must hold before a ratio counts.",
        )
        .or(standard.calls_min),
        Key::new(
            "failure_ratio",
            share(),
            "It opens at this share of failures.",
        )
        .or(standard.failure_ratio),
        Key::new(
            "consecutive_failures",
            whole(0, u32::MAX),
            "It opens after so many failures in a row; 0 turns this off.",
        )
        .or(standard.consecutive_failures),
        Key::new(
            "slow_after",
            TIME,
            "A call that takes longer is slow, also while it is still out; below `timeout.attempt`. Without it none is.",
        ),
        Key::new(
            "slow_ratio",
            share(),
            "It opens at this share of slow calls.",
        )
        .or(standard.slow_ratio),
    ]
}

fn stays_open(standard: &BreakerOptions) -> Vec<Key> {
    vec![
        Key::new(
            "open_for",
            TIME,
            "How long it stays open the first time, at least 1ms: each time without a stable close doubles it.",
        )
        .or_time(standard.open_for),
        Key::new(
            "open_for_max",
            TIME,
            "The longest it stays open: at least `open_for`, at most 1h.",
        )
        .or_time(standard.open_for_max),
        Key::new("open_jitter", number(0.0, 1.0), "How far the open time is spread to both sides.")
            .or(standard.open_jitter),
        Key::new("stable_after", TIME_OR_ZERO, "Closed for this long, the doubling starts again.")
            .or_time(standard.stable_after),
    ]
}

fn closes(standard: &BreakerOptions) -> Vec<Key> {
    vec![
        Key::new(
            "probes",
            whole(1, PROBES_MAX),
            "How many calls may probe at once.",
        )
        .or(standard.probes),
        Key::new(
            "successes_to_close",
            whole(1, u32::MAX),
            "How many probes must succeed to close it.",
        )
        .or(standard.successes_to_close),
        Key::new(
            "probe_lease",
            TIME,
            "After this time a probe without a result holds its place no longer; at least `timeout.attempt`. Without it 10s, \
             or that if it is more.",
        ),
        Key::new(
            "ramp",
            TIME_OR_ZERO,
            "So long a growing share of calls passes after it closed; zero lets all pass at once.",
        )
        .or_time(standard.ramp),
    ]
}
