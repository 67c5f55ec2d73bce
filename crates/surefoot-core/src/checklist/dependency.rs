//! What is contradictory about a dependency.

use super::fault::{Fault, FaultName, fault, waived};
use super::{BreakerFacts, DependencyFacts};

/// Reviews a dependency.
#[must_use]
pub fn review_dependency(dependency: &DependencyFacts) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !dependency.critical && dependency.fallback.is_none() {
        faults.push(fault(
            FaultName::NoFallback,
            format!(
                "{} is not critical and has no fallback, so it fails what it need not fail",
                dependency.name
            ),
            "declare a fallback, or say that it is critical",
        ));
    }
    match &dependency.breaker {
        None => faults.push(fault(
            FaultName::BreakerNever,
            format!(
                "{} has no breaker: when it is dead every caller waits for a time-out",
                dependency.name
            ),
            "turn the breaker on",
        )),
        Some(breaker) => faults.extend(breaker_faults(dependency, breaker)),
    }
    waived(faults, &dependency.waivers)
}

fn breaker_faults(dependency: &DependencyFacts, breaker: &BreakerFacts) -> Option<Fault> {
    let eager = breaker.consecutive_failures == 1
        || (breaker.calls_min <= 1 && breaker.failure_ratio < 1.0);
    if eager {
        return Some(fault(
            FaultName::BreakerEager,
            format!(
                "the breaker of {} opens at the first failure",
                dependency.name
            ),
            "raise consecutive_failures or calls_min, for example to 5 and 20",
        ));
    }
    // When every call ends in its time-out, no more than these end within the window.
    let attempt = dependency.attempt.as_secs_f64().max(0.001);
    let calls_seen =
        f64::from(dependency.concurrency_max) * (breaker.window.as_secs_f64() / attempt);
    let by_ratio = breaker.failure_ratio <= 1.0 && calls_seen >= f64::from(breaker.calls_min);
    (breaker.consecutive_failures == 0 && !by_ratio).then(|| {
        fault(
            FaultName::BreakerNever,
            format!(
                "the breaker of {} needs {} calls within {:?}, and when they all time out only {calls_seen:.0} end in \
                 that time: it can never open",
                dependency.name, breaker.calls_min, breaker.window
            ),
            "set consecutive_failures, lower calls_min, or widen the window",
        )
    })
}
