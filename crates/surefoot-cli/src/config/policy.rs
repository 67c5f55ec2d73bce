//! The policy of a `[dependency.NAME]`: the parts of `surefoot-policy`'s own [`Policy`], read by its own text form, with
//! every fault at its place. What stands here are only the defaults that fit calls of jobs; whether values make sense is
//! the policy's decision.

use std::time::Duration;

use serde::Deserialize;
use surefoot_policy::Policy;
use surefoot_policy::breaker::BreakerMode;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::policy_fault;
use super::section::{Field, Section};

/// The time of one call when the file gives none.
pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time to connect when the file gives none, unless half of the attempt time-out is less.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest total deadline that a policy takes.
const TOTAL_MAX: Duration = Duration::from_secs(86_400);
/// The longest window of a breaker.
const WINDOW_MAX: Duration = Duration::from_secs(3600);
/// The parts of a policy.
const PARTS: [&str; 12] = [
    "criticality",
    "timeout",
    "retry",
    "budget",
    "breaker",
    "bulkhead",
    "shed",
    "rate",
    "hedge",
    "adaptive",
    "fallback",
    "fault",
];

/// Reads the parts of a policy; `None` when something of them is wrong. `attempt_timeout` and `connect_timeout` are
/// short for `timeout.attempt` and `timeout.connect`.
pub(super) fn read(section: &Section<'_>) -> Option<Policy> {
    let short = Short {
        attempt: section.duration("attempt_timeout"),
        connect: section.duration("connect_timeout"),
    };
    let given = section.part(&PARTS);
    let (mut policy, sound) = parts(section, given.clone())?;
    let short_sound = short.apply(section, &given, &mut policy);
    fill(&mut policy, &given, &short);
    if !(sound && short_sound) {
        return None;
    }
    let faults = policy.validate();
    for fault in &faults {
        let span = policy_fault::place(fault, &given)
            .or(short.attempt.span())
            .or(short.connect.span())
            .unwrap_or_else(|| section.header.clone());
        section.faults.note_text(span, fault);
    }
    faults.is_empty().then_some(policy)
}

/// Reads all parts at once, and again without what was wrong, until nothing is: so each fault is found. Whether nothing
/// was wrong is the second answer.
fn parts(section: &Section<'_>, mut table: DeTable<'_>) -> Option<(Policy, bool)> {
    // A derived text form takes a list in the place of a table, its entries in the order of the code.
    let mut sound = !policy_fault::remove_lists(section, &section.declared, &mut table);
    loop {
        let whole = Spanned::new(section.header.clone(), table.clone());
        let error = match Policy::deserialize(Deserializer::from(whole)) {
            Ok(policy) => return Some((policy, sound)),
            Err(error) => error,
        };
        sound = false;
        let span = error.span().unwrap_or_else(|| section.header.clone());
        let removed = policy_fault::remove(&mut table, &span);
        policy_fault::note(section, &span, removed.as_ref(), error.message());
        removed?;
    }
}

/// The two keys of the section that are short for others.
struct Short {
    attempt: Field<Duration>,
    connect: Field<Duration>,
}

impl Short {
    /// Puts them into the policy; false when one is wrong or says the same as another key.
    fn apply(&self, section: &Section<'_>, given: &DeTable<'_>, policy: &mut Policy) -> bool {
        let pairs = [
            (&self.attempt, "attempt", &mut policy.timeout.attempt),
            (&self.connect, "connect", &mut policy.timeout.connect),
        ];
        let mut sound = true;
        for (field, key, value) in pairs {
            match field {
                Field::Absent => {}
                Field::Faulty => sound = false,
                Field::Given(_, span) if policy_fault::has(given, &["timeout", key]) => {
                    sound = false;
                    section.faults.note(
                        span.clone(),
                        format!("{key}_timeout and timeout.{key} say the same"),
                        "keep one of them",
                    );
                }
                Field::Given(duration, _) => *value = *duration,
            }
        }
        sound
    }
}

/// Defaults that fit calls of jobs: the job repeats, not the call, and what follows from the attempt time-out follows
/// from the given one.
fn fill(policy: &mut Policy, given: &DeTable<'_>, short: &Short) {
    let has = |path: &[&str]| policy_fault::has(given, path);
    if short.attempt == Field::Absent && !has(&["timeout", "attempt"]) {
        policy.timeout.attempt = ATTEMPT_TIMEOUT;
    }
    let attempt = policy.timeout.attempt;
    if short.connect == Field::Absent && !has(&["timeout", "connect"]) {
        policy.timeout.connect = CONNECT_TIMEOUT.min(attempt / 2);
    }
    if !has(&["timeout", "attempt_min"]) {
        policy.timeout.attempt_min = policy.timeout.attempt_min.min(attempt);
    }
    if !has(&["retry", "attempts_max"]) {
        policy.retry.attempts_max = 1;
    }
    if !has(&["timeout", "total"]) {
        let queue = policy.bulkhead.queue_wait_max;
        let all = policy.explain().time_uncut.saturating_add(queue);
        policy.timeout.total = all.min(TOTAL_MAX);
    }
    let breaker = &mut policy.breaker;
    if !has(&["breaker", "window"]) {
        breaker.window = breaker.window.max(attempt.saturating_mul(2));
        if breaker.window > WINDOW_MAX && !has(&["breaker", "mode"]) {
            // Calls this long never fill a window: a breaker could not work.
            breaker.window = WINDOW_MAX;
            breaker.mode = BreakerMode::Disabled;
        }
    }
    if !has(&["breaker", "probe_lease"]) {
        breaker.probe_lease = breaker.probe_lease.max(attempt);
    }
}
