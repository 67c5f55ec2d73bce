//! What is contradictory about a dependency.

use super::fault::{Fault, FaultName, fault, waived};
use super::{BreakerFacts, DependencyFacts, RetryFacts, written};

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
    if let Some(retries) = &dependency.retries {
        faults.extend(retry_faults(dependency, retries));
    }
    match &dependency.breaker {
        None => faults.push(fault(
            FaultName::BreakerNever,
            format!(
                "{} has no breaker: when it is dead every caller waits for a time-out",
                dependency.name
            ),
            "turn the breaker on; when its calls are too long for a window, lower their time-out",
        )),
        Some(breaker) => faults.extend(breaker_faults(dependency, breaker)),
    }
    waived(faults, &dependency.waivers)
}

fn retry_faults(dependency: &DependencyFacts, retries: &RetryFacts) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !retries.budgeted {
        faults.push(fault(
            FaultName::RetryBudget,
            format!(
                "retries of {} have no budget: when it is down, {} calls arrive in the place of one",
                dependency.name, retries.tries_max
            ),
            "enable the budget, or set its attempts to 1",
        ));
    }
    if !retries.spread {
        faults.push(fault(
            FaultName::NoJitter,
            format!(
                "retries of {} have no jitter, so calls that fail together come back together",
                dependency.name
            ),
            "set the jitter of its retries, for example \"full\"",
        ));
    }
    faults
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
                "the breaker of {} needs {} calls within {}, and when they all time out only {calls_seen:.0} end in \
                 that time: it can never open",
                dependency.name, breaker.calls_min, written(breaker.window)
            ),
            "set consecutive_failures, lower calls_min, or widen the window",
        )
    })
}
