//! Counts of what happened, by names of one scheme and labels from closed sets: the name of the dependency, and
//! words of this crate. No text of an error, a path or a caller ever becomes a label.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::dependency::Dependency;
use crate::error::Kind;
use crate::event::{Event, Listener};

/// How many dependencies are told apart; further ones are counted as `other`.
pub const DEPENDENCIES_MAX: usize = 256;

/// Calls by how they ended; `outcome` is `succeeded`, `failed` or `rejected`. Unit: calls.
pub const CALLS: &str = "surefoot.dependency.calls";
/// How long calls took in all; sum. Unit: seconds.
pub const CALL_DURATION: &str = "surefoot.dependency.call.duration";
/// Attempts that failed, by `error.type`. Unit: attempts.
pub const ATTEMPTS_FAILED: &str = "surefoot.dependency.attempts.failed";
/// Calls turned away, by `reason`. Unit: calls.
pub const REJECTIONS: &str = "surefoot.dependency.rejections";
/// Further attempts. Unit: attempts.
pub const RETRIES: &str = "surefoot.dependency.retries";
/// Calls that got no further attempt, by `reason`. Unit: calls.
pub const RETRIES_SUPPRESSED: &str = "surefoot.dependency.retries.suppressed";
/// Second copies, by `outcome`: `sent` or `suppressed`. Unit: attempts.
pub const HEDGES: &str = "surefoot.dependency.hedges";
/// Calls that a layer above made again. Unit: calls.
pub const AMPLIFIED: &str = "surefoot.dependency.amplified";
/// Changes of the breaker, by the state they led to. Unit: changes.
pub const BREAKER_CHANGES: &str = "surefoot.dependency.breaker.changes";
/// Times the dependency asked to be left alone. Unit: times.
pub const GATE_CLOSED: &str = "surefoot.dependency.gate.closed";
/// Injected faults, by `kind`. Unit: attempts.
pub const FAULTS_INJECTED: &str = "surefoot.dependency.faults.injected";
/// Fallbacks, by `outcome`: `served` or `failed`. Unit: calls.
pub const FALLBACKS: &str = "surefoot.dependency.fallbacks";
/// Drills of a fallback, by `outcome`: `engaged` or `failed`. Unit: drills.
pub const DRILLS: &str = "surefoot.dependency.drills";

/// Every name.
pub const NAMES: [&str; 13] = [
    CALLS,
    CALL_DURATION,
    ATTEMPTS_FAILED,
    REJECTIONS,
    RETRIES,
    RETRIES_SUPPRESSED,
    HEDGES,
    AMPLIFIED,
    BREAKER_CHANGES,
    GATE_CLOSED,
    FAULTS_INJECTED,
    FALLBACKS,
    DRILLS,
];

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What is counted.
    pub name: &'static str,
    /// The dependency.
    pub dependency: Arc<str>,
    /// A further label and its word; two empty texts when there is none.
    pub label: (&'static str, &'static str),
    /// The count, or the sum of seconds.
    pub value: f64,
}

type Series = (&'static str, Arc<str>, (&'static str, &'static str));

/// Counts the events of the dependencies that it listens to.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Mutex<BTreeMap<Series, f64>>>);

impl Metrics {
    /// Counts what happens to `dependency` from now on.
    pub fn watch(&self, dependency: &Dependency) -> bool {
        dependency.listen(self.clone())
    }

    /// Every value so far, in a fixed order.
    #[must_use]
    pub fn read(&self) -> Vec<Reading> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = |((name, dependency, label), value): (&Series, &f64)| Reading {
            name,
            dependency: Arc::clone(dependency),
            label: *label,
            value: *value,
        };
        counts.iter().map(reading).collect()
    }

    fn add(
        &self,
        dependency: &Dependency,
        name: &'static str,
        label: (&'static str, &'static str),
        value: f64,
    ) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = (name, Arc::clone(&dependency.0.name), label);
        let known = counts.contains_key(&own);
        let series = if known || counts.len() < SERIES_MAX {
            own
        } else {
            (name, Arc::from("other"), label)
        };
        *counts.entry(series).or_default() += value;
    }

    fn took(&self, dependency: &Dependency, outcome: &'static str, took: Duration) {
        self.add(dependency, CALLS, ("outcome", outcome), 1.0);
        self.add(
            dependency,
            CALL_DURATION,
            ("outcome", outcome),
            took.as_secs_f64(),
        );
    }
}

/// About as many series as one dependency can have, times the dependencies.
const SERIES_MAX: usize = DEPENDENCIES_MAX * 64;

const NONE: (&str, &str) = ("", "");

impl Listener for Metrics {
    fn on(&self, dependency: &Dependency, event: &Event) {
        let one = |name, label| self.add(dependency, name, label, 1.0);
        match event {
            Event::Succeeded { took, .. } => self.took(dependency, "succeeded", *took),
            Event::Failed {
                took, suppressed, ..
            } => {
                self.took(dependency, "failed", *took);
                one(RETRIES_SUPPRESSED, ("reason", suppressed.as_str()));
            }
            Event::Rejected(rejection) => {
                one(CALLS, ("outcome", "rejected"));
                one(REJECTIONS, ("reason", rejection.as_str()));
            }
            Event::AttemptFailed(record) => {
                one(ATTEMPTS_FAILED, ("error.type", error_type(record.kind)))
            }
            Event::Retrying { .. } => one(RETRIES, NONE),
            Event::Hedged => one(HEDGES, ("outcome", "sent")),
            Event::HedgeSuppressed => one(HEDGES, ("outcome", "suppressed")),
            Event::Amplified { .. } => one(AMPLIFIED, NONE),
            Event::Breaker(transition) => one(BREAKER_CHANGES, ("state", transition.to.as_str())),
            Event::GateClosed { .. } => one(GATE_CLOSED, NONE),
            Event::FaultInjected(injected) => one(FAULTS_INJECTED, ("kind", injected.as_str())),
            Event::FallbackServed(_) => one(FALLBACKS, ("outcome", "served")),
            Event::FallbackFailed(_) => one(FALLBACKS, ("outcome", "failed")),
            Event::Drilled { engaged: true } => one(DRILLS, ("outcome", "engaged")),
            Event::Drilled { engaged: false } => one(DRILLS, ("outcome", "failed")),
            Event::LimitMoved { .. } | Event::Reconfigured => {}
        }
    }
}

/// OpenTelemetry's `error.type`: of low cardinality by its definition.
const fn error_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Rejected(rejection) => rejection.as_str(),
        Kind::Failed => "failed",
        Kind::TimedOut(_) => "timeout",
        Kind::Injected(injected) => injected.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning::Meaning;
    use crate::{Meta, Policy};

    #[tokio::test(start_paused = true)]
    async fn what_happened_is_counted_under_closed_labels() {
        let dependency = Dependency::new("psp", Policy::default()).unwrap();
        let metrics = Metrics::default();
        assert!(metrics.watch(&dependency));
        for answer in [Ok(1), Err(Meaning::REFUSED), Err(Meaning::REFUSED)] {
            let _ = dependency
                .call(&Meta::idempotent(), |_| std::future::ready(answer))
                .await;
        }
        dependency.force(crate::breaker::Force::Open);
        let _ = dependency
            .call(&Meta::idempotent(), |_| {
                std::future::ready(Ok::<_, Meaning>(1))
            })
            .await;
        let found: Vec<_> = metrics
            .read()
            .into_iter()
            .filter(|reading| reading.name != CALL_DURATION)
            .map(|reading| (reading.name, reading.label.1, reading.value))
            .collect();
        assert_eq!(
            found,
            [
                (ATTEMPTS_FAILED, "failed", 2.0),
                (BREAKER_CHANGES, "forced_open", 1.0),
                (CALLS, "failed", 2.0),
                (CALLS, "rejected", 1.0),
                (CALLS, "succeeded", 1.0),
                (REJECTIONS, "breaker_forced_open", 1.0),
                (RETRIES_SUPPRESSED, "permanent", 2.0),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_million_names_take_bounded_memory() {
        let metrics = Metrics::default();
        for n in 0..20_000 {
            let dependency = Dependency::new(&format!("tenant-{n}"), Policy::default()).unwrap();
            metrics.add(&dependency, RETRIES, NONE, 1.0);
        }
        let read = metrics.read();
        assert!(read.len() <= SERIES_MAX + 1, "{}", read.len());
        assert!((read.iter().map(|reading| reading.value).sum::<f64>() - 20_000.0).abs() < 0.5);
    }
}
