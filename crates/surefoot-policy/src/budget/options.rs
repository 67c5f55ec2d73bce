//! How much retries and hedges may add. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::window::{WINDOW_MAX, WINDOW_MIN};

/// The options of a retry budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetOptions {
    /// Whether retries and hedges are bounded at all. Default true; false invites a retry storm.
    pub enabled: bool,
    /// How many extra sends one success pays for. Above 0, at most 1. Default 0.1: one in ten.
    pub ratio: f64,
    /// How long a deposit lasts. 10 ms to 1 h. Default 10 s.
    #[serde(with = "crate::duration_text")]
    pub window: Duration,
    /// How many extra sends per second are allowed without any deposit, so that little traffic has retries
    /// too; they do not pile up. 0 to 10. Default 0.1.
    pub reserve_per_second: f64,
}

impl Default for BudgetOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            ratio: 0.1,
            window: Duration::from_secs(10),
            reserve_per_second: 0.1,
        }
    }
}

impl BudgetOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(self.ratio > 0.0 && self.ratio <= 1.0) {
            faults.push(format!(
                "budget.ratio {} is not above 0 and at most 1: give 0.1 for a tenth",
                self.ratio
            ));
        }
        if !(WINDOW_MIN..=WINDOW_MAX).contains(&self.window) {
            faults.push(format!(
                "budget.window {:?} is not within 10ms and 1h: give 10s",
                self.window
            ));
        }
        if !(0.0..=10.0).contains(&self.reserve_per_second) {
            faults.push(format!(
                "budget.reserve_per_second {} is not within 0 and 10: give 0.1 for one in ten seconds",
                self.reserve_per_second
            ));
        }
        faults
    }

    /// How far apart sends out of the reserve are; `None` without a reserve.
    pub(super) fn reserve_every(&self) -> Option<Duration> {
        (self.reserve_per_second > 0.0).then(|| {
            Duration::try_from_secs_f64(1.0 / self.reserve_per_second).unwrap_or(Duration::MAX)
        })
    }
}
