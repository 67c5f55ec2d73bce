//! `fallback` of a policy: what is served when a service does not answer.

use serde_json::Value;
use surefoot_policy::bulkhead::LIMIT_MAX;
use surefoot_policy::fallback::{FallbackKind, FallbackOptions};

use super::node::section;
use super::policy::{TIME, TIME_OR_ZERO, whole};
use super::shape::{Key, Shape};

/// The most answers of a stale cache, as the policy takes them.
const STALE_ENTRIES_MAX: u64 = 1_000_000;

pub(super) fn key() -> Key {
    let standard = FallbackOptions::of(FallbackKind::Stale);
    let kinds = [
        FallbackKind::Value,
        FallbackKind::Function,
        FallbackKind::Stale,
    ];
    let kind = Key::new(
        "kind",
        Shape::Words(kinds.map(FallbackKind::as_str).to_vec()),
        "Always the same value, something that is computed or asked elsewhere, or what the service said last.",
    );
    let ages = &standard.stale;
    let stale = vec![
        Key::new(
            "fresh",
            TIME_OR_ZERO,
            "So long it is served without asking.",
        )
        .or_time(ages.fresh),
        Key::new(
            "while_revalidating",
            TIME_OR_ZERO,
            "So long it is served while one caller asks again; at least `fresh`.",
        )
        .or_time(ages.while_revalidating),
        Key::new(
            "if_error",
            TIME_OR_ZERO,
            "So long it is served when asking fails; at least `while_revalidating`.",
        )
        .or_time(ages.if_error),
        Key::new(
            "retry_every",
            TIME_OR_ZERO,
            "After a failure nobody asks again for this long.",
        )
        .or_time(ages.retry_every),
        Key::new(
            "entries_max",
            Shape::Count(1..=STALE_ENTRIES_MAX),
            "How many answers are kept.",
        )
        .or(Value::from(ages.entries_max)),
    ];
    let keys = vec![
        kind.required(),
        Key::new(
            "concurrency_max",
            whole(1, LIMIT_MAX),
            "How many may run at once; more are turned away.",
        )
        .or(standard.concurrency_max),
        Key::new("timeout", TIME, "How long one may take.").or_time(standard.timeout),
        section("stale", "The ages of a stale answer, for that kind.", stale),
    ];
    let what =
        "What is served when the service does not answer. Jobs are not served one: they wait.";
    section("fallback", what, keys)
}
