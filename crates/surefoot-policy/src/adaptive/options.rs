//! Between which limits, and how fast. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bulkhead::LIMIT_MAX;

/// The options of adaptive concurrency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveOptions {
    /// The lowest limit, and the one at which the idle latency is measured. At least 1. Default 4.
    pub limit_min: u32,
    /// The highest limit. Default 1000.
    pub limit_max: u32,
    /// How long samples are collected before the limit moves. 10 ms to 1 min. Default 250 ms.
    #[serde(with = "crate::duration_text")]
    pub every: Duration,
    /// How often the idle latency is measured anew. At least ten times `every`. Default 60 s.
    #[serde(with = "crate::duration_text")]
    pub relearn_every: Duration,
    /// How much longer than idle a call may take before the limit falls. 1.05 to 10. Default 1.5.
    pub tolerance: f64,
}

impl Default for AdaptiveOptions {
    fn default() -> Self {
        Self {
            limit_min: 4,
            limit_max: 1000,
            every: Duration::from_millis(250),
            relearn_every: Duration::from_secs(60),
            tolerance: 1.5,
        }
    }
}

impl AdaptiveOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.limit_min == 0 || self.limit_min > self.limit_max || self.limit_max > LIMIT_MAX {
            faults.push(format!(
                "adaptive.limit_min {} and limit_max {} are not in order within 1 and {LIMIT_MAX}: give 4 and 1000",
                self.limit_min, self.limit_max
            ));
        }
        if !(Duration::from_millis(10)..=Duration::from_secs(60)).contains(&self.every) {
            faults.push(format!(
                "adaptive.every {:?} is not within 10ms and 1m: give 250ms",
                self.every
            ));
        }
        if self.relearn_every < self.every.saturating_mul(10) {
            faults.push(format!(
                "adaptive.relearn_every {:?} is below ten times every {:?}: raise it",
                self.relearn_every, self.every
            ));
        }
        if !(1.05..=10.0).contains(&self.tolerance) {
            faults.push(format!(
                "adaptive.tolerance {} is not within 1.05 and 10: give 1.5",
                self.tolerance
            ));
        }
        faults
    }
}
