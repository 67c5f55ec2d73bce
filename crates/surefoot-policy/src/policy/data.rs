//! The policy of a dependency. Plain data with defaults that are sound together.

use serde::{Deserialize, Serialize};

use crate::adaptive::AdaptiveOptions;
use crate::breaker::{BreakerMode, BreakerOptions};
use crate::budget::BudgetOptions;
use crate::bulkhead::BulkheadOptions;
use crate::fallback::FallbackOptions;
use crate::fault::FaultOptions;
use crate::hedge::HedgeOptions;
use crate::meta::Criticality;
use crate::rate::RateOptions;
use crate::retry::RetryOptions;
use crate::shed::ShedOptions;
use crate::timeout::TimeoutOptions;

/// Everything that protects the calls of one dependency. They act in one fixed order, outermost first: fallback,
/// total deadline, retry and hedge under one budget, gate and rate limit, breaker, bulkhead, attempt time-out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// How much depends on it. One that is not critical must name a fallback. Default critical.
    pub criticality: Criticality,
    /// How long calls may take.
    pub timeout: TimeoutOptions,
    /// How often they are tried.
    pub retry: RetryOptions,
    /// What retries and hedges may add.
    pub budget: BudgetOptions,
    /// When it is not called at all.
    pub breaker: BreakerOptions,
    /// How many calls may be out.
    pub bulkhead: BulkheadOptions,
    /// What is turned away first.
    pub shed: ShedOptions,
    /// How many calls may leave per time. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateOptions>,
    /// When a second copy leaves. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hedge: Option<HedgeOptions>,
    /// A limit that finds itself, in place of the bulkhead's. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<AdaptiveOptions>,
    /// What is served instead. Default: nothing, the caller gets the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<FallbackOptions>,
    /// Faults to inject. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultOptions>,
}

/// A policy that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy has {} fault(s): {}", faults.len(), faults.join("; "))]
pub struct InvalidPolicy {
    /// Every fault, each with its remedy.
    pub faults: Vec<String>,
}

impl Policy {
    /// Every fault of every part and between them at once, each with its remedy; empty when it is sound.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = self.timeout.validate();
        faults.extend(self.retry.validate());
        faults.extend(self.budget.validate());
        faults.extend(self.breaker.validate());
        faults.extend(self.bulkhead.validate());
        faults.extend(self.shed.validate());
        faults.extend(self.rate.iter().flat_map(RateOptions::validate));
        faults.extend(self.hedge.iter().flat_map(HedgeOptions::validate));
        faults.extend(self.adaptive.iter().flat_map(AdaptiveOptions::validate));
        faults.extend(self.fallback.iter().flat_map(FallbackOptions::validate));
        faults.extend(self.fault.iter().flat_map(FaultOptions::validate));
        self.validate_together(&mut faults);
        faults
    }

    /// The policy, or all its faults.
    ///
    /// # Errors
    /// [`InvalidPolicy`].
    pub fn checked(self) -> Result<Self, InvalidPolicy> {
        let faults = self.validate();
        if faults.is_empty() {
            Ok(self)
        } else {
            Err(InvalidPolicy { faults })
        }
    }

    fn validate_together(&self, faults: &mut Vec<String>) {
        let attempt = self.timeout.attempt;
        let breaker_acts = self.breaker.mode != BreakerMode::Disabled;
        if breaker_acts && self.breaker.window < attempt.saturating_mul(2) {
            faults.push(format!(
                "breaker.window {:?} is shorter than twice timeout.attempt {attempt:?}, so it could not hold enough \
                 time-outs: raise the window or lower the time-out",
                self.breaker.window
            ));
        }
        if breaker_acts && self.breaker.probe_lease < attempt {
            faults.push(format!(
                "breaker.probe_lease {:?} is shorter than timeout.attempt {attempt:?}, so more probes than allowed \
                 could be out: raise the lease",
                self.breaker.probe_lease
            ));
        }
        if let Some(slow_after) = self
            .breaker
            .slow_after
            .filter(|slow_after| *slow_after >= attempt)
        {
            faults.push(format!(
                "breaker.slow_after {slow_after:?} is not below timeout.attempt {attempt:?}, so no call would live to \
                 be slow: lower it"
            ));
        }
        if let Some(hedge) = self.hedge.as_ref().filter(|hedge| hedge.after >= attempt) {
            faults.push(format!(
                "hedge.after {:?} is not below timeout.attempt {attempt:?}, so no second copy would ever leave: lower it",
                hedge.after
            ));
        }
        if self.criticality != Criticality::Critical && self.fallback.is_none() {
            faults.push(format!(
                "criticality is {}, but there is no fallback to serve without it: name fallback.kind, or make it critical",
                self.criticality.as_str()
            ));
        }
    }
}
