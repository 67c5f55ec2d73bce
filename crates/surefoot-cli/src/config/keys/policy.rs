//! The parts of a policy in `[dependency.NAME]`, but for the breaker and the fallback. Defaults that the policy itself has are taken from
//! it; where the parser puts others in their place for jobs, they are the parser's.

use std::time::Duration;

use surefoot_core::backoff::BACKOFF_DELAYS_MAX;
use surefoot_policy::Policy;
use surefoot_policy::adaptive::AdaptiveOptions;
use surefoot_policy::bulkhead::LIMIT_MAX;
use surefoot_policy::fault::FaultOptions;
use surefoot_policy::meta::Criticality;
use surefoot_policy::retry::ATTEMPTS_MAX;

use super::breaker;
use super::fallback;
use super::node::section;
use super::shape::{Key, Shape, Table};
use crate::config::duration::written;
use crate::config::policy::{ATTEMPT_TIMEOUT, CONNECT_TIMEOUT};

/// The most calls in a rate, as the policy takes them.
const RATE_CALLS_MAX: u64 = 1_000_000_000;

/// A duration as policies take them, from a microsecond on.
pub(super) const TIME: Shape = Shape::Duration {
    zero: false,
    fine: true,
};
/// The same, or zero.
pub(super) const TIME_OR_ZERO: Shape = Shape::Duration {
    zero: true,
    fine: true,
};

pub(super) fn keys() -> Vec<Key> {
    let standard = Policy::default();
    let words = [
        Criticality::Critical,
        Criticality::Degradable,
        Criticality::Optional,
    ];
    vec![
        Key::new(
            "criticality",
            Shape::Words(words.map(Criticality::as_str).to_vec()),
            "How much depends on the service. What is not critical is shed first under load, and needs a `fallback`.",
        )
        .or(standard.criticality.as_str()),
        timeout(&standard),
        retry(&standard),
        budget(&standard),
        breaker::key(&standard.breaker),
        bulkhead(&standard),
        shed(&standard),
        rate(),
        hedge(),
        adaptive(),
        fallback::key(),
        fault(),
    ]
}

/// A number between two bounds, both within.
pub(super) const fn number(least: f64, most: f64) -> Shape {
    Shape::Number {
        least,
        above: false,
        most: Some(most),
    }
}

/// A share above zero and at most one.
pub(super) const fn share() -> Shape {
    Shape::Number {
        least: 0.0,
        above: true,
        most: Some(1.0),
    }
}

/// A whole number up to a bound of the policy.
pub(super) fn whole(least: u32, most: u32) -> Shape {
    Shape::count(least..=most)
}

fn timeout(standard: &Policy) -> Key {
    let connect = format!(
        "To connect, TLS included; below `attempt`. When it fires, nothing was sent. Without it {}, or half of `attempt` if \
         that is less.",
        written(CONNECT_TIMEOUT)
    );
    let keys = vec![
        Key::new("connect", TIME, connect),
        Key::new(
            "attempt",
            TIME,
            "One send, from its start to the last byte of the answer. When it fires, the outcome is unknown.",
        )
        .or_time(ATTEMPT_TIMEOUT),
        Key::new(
            "total",
            TIME,
            "The whole call, at least `attempt` and at most 1d. Without it all attempts, the waits between them, and the \
             wait in the queue.",
        ),
        Key::new("attempt_min", TIME_OR_ZERO, "No attempt starts with less time left; at most `attempt`.")
            .or_time(standard.timeout.attempt_min),
    ];
    section(
        "timeout",
        "How long a call may take: connect < attempt <= total.",
        keys,
    )
}

fn retry(standard: &Policy) -> Key {
    let keys = vec![
        Key::new(
            "attempts_max",
            whole(1, ATTEMPTS_MAX),
            "How many attempts one call has, the first included. By default the job is what tries again: retries at two \
             layers multiply.",
        )
        .or(1),
        backoff(),
        Key::new(
            "retry_after_max",
            TIME,
            "So long at most a `Retry-After` closes the gate for all calls of the service, at most 1d.",
        )
        .or_time(standard.retry.retry_after_max),
    ];
    section(
        "retry",
        "Whether a call is made again within one attempt of the job.",
        keys,
    )
}

fn backoff() -> Key {
    let jitter = || {
        let fraction = Key::new("fraction", share(), "So much to both sides.");
        let table = Table::new("A share to both sides.", vec![fraction.required()]);
        let shape = Shape::AnyOf(vec![
            Shape::Words(vec!["none", "full", "equal", "decorrelated"]),
            Shape::Table(table),
        ]);
        Key::new("jitter", shape, "How waits are spread.").or("full")
    };
    let base = Key::new("base", TIME, "The first wait.");
    let factor = Shape::Number {
        least: 1.0,
        above: false,
        most: None,
    };
    let grows = vec![
        base.required(),
        Key::new(
            "factor",
            factor,
            "What each further failure multiplies the wait with.",
        )
        .or(2.0),
        Key::new("cap", TIME, "The longest wait, at least `base`.").or_time(Duration::from_secs(5)),
        jitter(),
    ];
    let delays = Key::new(
        "delays",
        Shape::list(TIME, 1..=BACKOFF_DELAYS_MAX),
        "The waits; the last one repeats.",
    );
    let shape = Shape::AnyOf(vec![
        Shape::Table(Table::new("Waits that grow.", grows)),
        Shape::Table(Table::new(
            "Waits as a list.",
            vec![delays.required(), jitter()],
        )),
    ]);
    Key::new("backoff", shape, "How long to wait between attempts.")
        .or(serde_json::json!({ "base": "100ms" }))
}

fn budget(standard: &Policy) -> Key {
    let standard = &standard.budget;
    let keys =
        vec![
        Key::new(
            "enabled",
            Shape::Truth,
            "Whether retries and hedges are bounded over all calls; false invites a retry storm.",
        )
        .or(standard.enabled),
        Key::new("ratio", share(), "How many extra sends one success pays for.").or(standard.ratio),
        Key::new("window", TIME, "How long a success counts: 10ms to 1h.").or_time(standard.window),
        Key::new(
            "reserve_per_second",
            number(0.0, 10.0),
            "How many extra sends per second are allowed without any success before them.",
        )
        .or(standard.reserve_per_second),
    ];
    section(
        "budget",
        "What retries and hedges may add over all calls.",
        keys,
    )
}

fn bulkhead(standard: &Policy) -> Key {
    let standard = &standard.bulkhead;
    let keys = vec![
        Key::new(
            "limit",
            whole(1, LIMIT_MAX),
            "How many calls are out at once, on this node.",
        )
        .or(standard.limit),
        Key::new(
            "queue_max",
            whole(0, LIMIT_MAX),
            "How many calls wait for a place; 0 turns a call away as soon as the limit is reached.",
        )
        .or(standard.queue_max),
        Key::new(
            "queue_wait_max",
            TIME_OR_ZERO,
            "How long a call waits for a place; zero only with `queue_max = 0`.",
        )
        .or_time(standard.queue_wait_max),
    ];
    section("bulkhead", "How many calls may be out.", keys)
}

fn shed(standard: &Policy) -> Key {
    let keys = vec![
        Key::new(
            "optional_at",
            number(0.0, 1.0),
            "From this share of the bulkhead on, calls of an optional service are turned away; at most `degradable_at`.",
        )
        .or(standard.shed.optional_at),
        Key::new(
            "degradable_at",
            number(0.0, 1.0),
            "From this share of the bulkhead on, calls of a degradable service are turned away.",
        )
        .or(standard.shed.degradable_at),
    ];
    section("shed", "What is turned away first under load.", keys)
}

fn rate() -> Key {
    let calls = Key::new(
        "calls",
        Shape::Count(1..=RATE_CALLS_MAX),
        "How many calls may leave per `per`.",
    );
    let per = Key::new("per", TIME, "The time that `calls` is for: 1ms to 1d.");
    let keys = vec![
        calls.required(),
        per.required(),
        Key::new(
            "burst",
            Shape::Count(1..=RATE_CALLS_MAX),
            "How many calls may leave at one moment after a rest; at most `calls`.",
        )
        .or(1),
        Key::new(
            "wait_max",
            TIME_OR_ZERO,
            "How long a call waits for its turn, at most 1h.",
        )
        .or("0s"),
    ];
    section(
        "rate",
        "How many calls may leave per time, on this node. Without it there is no limit.",
        keys,
    )
}

fn hedge() -> Key {
    let after = Key::new(
        "after",
        TIME,
        "The shortest time after which the second copy leaves; below `timeout.attempt`.",
    );
    let keys = vec![
        after.required(),
        Key::new(
            "percentile",
            number(50.0, 99.9),
            "The second copy leaves no earlier than this percentile of recent latencies.",
        )
        .or(95.0),
    ];
    let what = "When a second copy of a slow call leaves. Never under `at_most_once` or `verify`. Without it, never.";
    section("hedge", what, keys)
}

fn adaptive() -> Key {
    let standard = AdaptiveOptions::default();
    let keys = vec![
        Key::new("limit_min", whole(1, LIMIT_MAX), "The lowest limit.").or(standard.limit_min),
        Key::new(
            "limit_max",
            whole(1, LIMIT_MAX),
            "The highest limit, at least `limit_min`.",
        )
        .or(standard.limit_max),
        Key::new("every", TIME, "How often the limit may move: 10ms to 1m.")
            .or_time(standard.every),
        Key::new(
            "relearn_every",
            TIME,
            "How often the latency at rest is measured anew; at least ten times `every`.",
        )
        .or_time(standard.relearn_every),
        Key::new(
            "tolerance",
            number(1.05, 10.0),
            "How many times longer than at rest a call may take before the limit falls.",
        )
        .or(standard.tolerance),
    ];
    let what = "A limit that finds itself in place of `bulkhead.limit`. Without it, off; every key of it has a default.";
    section("adaptive", what, keys)
}

fn fault() -> Key {
    let standard = FaultOptions::default();
    let keys = vec![
        Key::new(
            "errors",
            number(0.0, 1.0),
            "The share that fails as if refused.",
        )
        .or(standard.errors),
        Key::new(
            "resets",
            number(0.0, 1.0),
            "The share that fails as if the connection broke after the call had left.",
        )
        .or(standard.resets),
        Key::new("hangs", number(0.0, 1.0), "The share that never answers.").or(standard.hangs),
        Key::new(
            "delays",
            number(0.0, 1.0),
            "The share that is late by `latency`.",
        )
        .or(standard.delays),
        Key::new(
            "latency",
            TIME_OR_ZERO,
            "How late; above zero where `delays` is.",
        )
        .or_time(standard.latency),
    ];
    let what = "Faults for drills, as shares of all attempts, together at most 1. Without it none.";
    section("fault", what, keys)
}
