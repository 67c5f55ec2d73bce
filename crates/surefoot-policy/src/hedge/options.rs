//! When a second copy leaves. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The options of hedging. It acts only on calls that are idempotent or keyed, and draws on the retry budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HedgeOptions {
    /// The shortest time after which the second copy leaves. Above 0.
    #[serde(with = "crate::duration_text")]
    pub after: Duration,
    /// The second copy leaves no earlier than this percentile of the recent latencies, hung calls included.
    /// 50 to 99.9. Default 95.
    #[serde(default = "ninety_five")]
    pub percentile: f64,
}

const fn ninety_five() -> f64 {
    95.0
}

impl HedgeOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.after.is_zero() {
            faults.push(
                "hedge.after is 0, so every call would be sent twice: give a usual latency"
                    .to_owned(),
            );
        }
        if !(50.0..=99.9).contains(&self.percentile) {
            faults.push(format!(
                "hedge.percentile {} is not within 50 and 99.9: give 95",
                self.percentile
            ));
        }
        faults
    }
}
