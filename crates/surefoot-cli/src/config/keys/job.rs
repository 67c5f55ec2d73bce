//! `[job.KIND]`: how a kind is run.

use surefoot_core::backoff::{BACKOFF_DELAYS_MAX, Backoff};
use surefoot_core::checklist::FaultName;
use surefoot_core::policy::JobPolicy;

use super::pattern::{self, PATH_CHARACTERS};
use super::recovery;
use super::shape::{Key, Shape, Table};
use crate::config::answers::{OF_A_KIND, WORDS_CHARS_MAX};
use crate::config::backoff::{CAP, FACTOR, WORDS as JITTER_WORDS};
use crate::config::dependency::HEADERS_RESERVED;
use crate::config::duration::written;
use crate::config::job::{CONCURRENCY_MAX, METHODS, TRIES_MAX};

pub(super) fn key() -> Key {
    let mut keys = calls();
    keys.extend(times());
    keys.extend(counts());
    keys.extend(answers());
    let table = Table::new(
        "How a kind is run. With a `dependency` the engine runs it, by one call of the service; without one pull workers do.",
        keys,
    );
    Key::new(
        "job",
        Shape::named(pattern::name(), Shape::Table(table)),
        "Kinds of jobs by name: `[job.KIND]`.",
    )
}

fn calls() -> Vec<Key> {
    vec![
        Key::new(
            "dependency",
            Shape::text(pattern::name()),
            "Whom to call: the name of a `[dependency.NAME]`.",
        )
        .with(&["request", "recovery"]),
        Key::new("request", Shape::Table(request()), "What to call.").with(&["dependency"]),
        recovery::key(),
    ]
}

fn request() -> Table {
    let path = Key::new(
        "path",
        Shape::text(format!("^/{PATH_CHARACTERS}*$")),
        "The path below `base_url`. It begins with `/` and may have a query.",
    );
    let keys = vec![
        Key::new(
            "method",
            Shape::Words(METHODS.to_vec()),
            "The method; it carries the payload as a body.",
        )
        .or("POST"),
        path.required(),
        headers("Sent over those of the dependency."),
    ];
    Table::new(
        "What to call. The payload is the body, byte for byte.",
        keys,
    )
}

/// `headers` of a call.
pub(super) fn headers(what: &str) -> Key {
    let what = format!(
        "{what} `${{NAME}}` is filled from the environment. Those that the engine or the protocol sets are refused: {}.",
        HEADERS_RESERVED.join(", ")
    );
    let value = Shape::text("^[^\\r\\n]*$");
    Key::new("headers", Shape::named(pattern::header_name(), value), what)
}

fn times() -> Vec<Key> {
    vec![
        Key::new(
            "timeout",
            Shape::time(),
            "The longest that an attempt may take, at least the time of a call. Without it `timeout.attempt` of the \
             dependency and one second (`timeout.total` and one second where it retries or hedges), or 30 s without a \
             dependency.",
        ),
        Key::new(
            "lease",
            Shape::time(),
            format!(
                "How long a claim holds without a sign of life; longer than `timeout`. So soon is the job of a dead node taken \
                 over. Without it `timeout` and {}.",
                written(JobPolicy::LEASE_MARGIN)
            ),
        ),
        Key::new(
            "deadline",
            Shape::time(),
            "How long after it was handed in a job that names no deadline of its own may still run; at least `timeout`. \
             Without it there is none.",
        ),
        backoff(),
        jitter(),
    ]
}

fn backoff() -> Key {
    let base = Key::new("base", Shape::time(), "The first delay.");
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
            "What each further failure multiplies the delay with.",
        )
        .or(FACTOR),
        Key::new("cap", Shape::time(), "The longest delay, at least `base`.").or_time(CAP),
    ];
    let shape = Shape::AnyOf(vec![
        Shape::list(Shape::time(), 1..=BACKOFF_DELAYS_MAX),
        Shape::Table(Table::new("Delays that grow.", grows)),
    ]);
    let what = "How long to wait after the n-th failure: a list whose last delay repeats, or a table with `base`, `factor` and \
                `cap`.";
    Key::new("backoff", shape, what).or(delays(&Backoff::default()))
}

/// The delays of a list, as they are written.
pub(super) fn delays(backoff: &Backoff) -> Vec<String> {
    match backoff {
        Backoff::List { delays, .. } => delays.iter().copied().map(written).collect(),
        Backoff::Exponential { .. } => Vec::new(),
    }
}

fn jitter() -> Key {
    let share = Shape::Number {
        least: 0.0,
        above: true,
        most: Some(1.0),
    };
    let shape = Shape::AnyOf(vec![Shape::Words(JITTER_WORDS.to_vec()), share]);
    Key::new(
        "jitter",
        shape,
        "How delays are spread: `\"none\"`; `\"full\"`, from nothing to the delay; `\"equal\"`, from half of it to all of it; a \
         fraction, so much less or more; `\"decorrelated\"`, for a table only, from the base to three times the delay \
         before. Without it 0.25 for a list and `\"full\"` for a table.",
    )
}

fn counts() -> Vec<Key> {
    let standard = JobPolicy::default();
    vec![
        Key::new(
            "attempts_max",
            Shape::count(1..=TRIES_MAX),
            "How many attempts may fail before the job is a dead letter.",
        )
        .or(standard.attempts_max),
        Key::new(
            "crashes_max",
            Shape::count(1..=TRIES_MAX),
            "How many times its holder may be lost before the job is a dead letter.",
        )
        .or(standard.crashes_max),
        Key::new(
            "concurrency",
            Shape::count(1..=CONCURRENCY_MAX),
            "How many jobs of the kind run at once over all nodes. Without it there is no limit.",
        ),
        Key::new(
            "concurrency_per_key",
            Shape::count(1..=CONCURRENCY_MAX),
            "How many jobs of the kind with one concurrency key run at once over all nodes. Without it there is no limit.",
        ),
    ]
}

fn answers() -> Vec<Key> {
    vec![
        Key::new(
            "effect",
            pattern::words(WORDS_CHARS_MAX),
            "What a job does outside, in words; without it the request. Pull workers have no request that says it.",
        ),
        Key::new(
            "alert",
            pattern::words(WORDS_CHARS_MAX),
            "Who is told of its dead letters, in words; without it `[alerts] dead_letters`.",
        ),
        waive("kind", &OF_A_KIND),
    ]
}

/// `waive`: the faults that can be accepted.
pub(super) fn waive(whose: &str, faults: &[FaultName]) -> Key {
    let fault = |fault: &FaultName| {
        Key::new(
            fault.as_str(),
            pattern::words(WORDS_CHARS_MAX),
            format!("Why this is accepted: {}.", accepted(*fault)),
        )
    };
    let what =
        format!("Which faults of the {whose} are accepted, each by its name with the reason.");
    let table = Table::new(what.clone(), faults.iter().map(fault).collect());
    Key::new("waive", Shape::Table(table), what)
}

/// What is accepted with a fault.
const fn accepted(fault: FaultName) -> &'static str {
    match fault {
        FaultName::NoSideEffect => "nobody said what it does outside",
        FaultName::NoRecovery => "nobody said what an unknown outcome means",
        FaultName::NoJitter => "waits are not spread, and what failed together comes back together",
        FaultName::NoAlert => "nobody is told of its dead letters",
        FaultName::TimeoutLadder => "time limits do not lie around one another",
        FaultName::RetryLayers => {
            "both the job and the policy of its dependency try again, so tries multiply"
        }
        FaultName::KeyRetention => "the last try may come after the provider has forgotten the key",
        FaultName::AtMostOnceRetries => {
            "nothing is sent again after an unknown outcome, and yet there are attempts to spare"
        }
        FaultName::BackoffDeadline => {
            "all waits together are longer than the deadline, so the last attempts never run"
        }
        FaultName::Verification => "what is declared about verification cannot work",
        FaultName::Policy => "a value that no job could run with",
        FaultName::NoFallback => {
            "it may fail without a replacement, although nothing depends on it"
        }
        FaultName::RetryBudget => {
            "nothing bounds how far retries multiply the calls while it is down"
        }
        FaultName::BreakerNever => {
            "the breaker is off, or needs more calls in its window than can end in it"
        }
        FaultName::BreakerEager => "the breaker opens at the first failure",
    }
}
