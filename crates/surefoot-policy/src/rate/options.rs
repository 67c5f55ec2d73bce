//! How many calls may leave per time. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The options of a rate limiter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateOptions {
    /// How many calls per `per`. 1 to 10^9.
    pub calls: u32,
    /// The time that `calls` is for. 1 ms to 1 day.
    #[serde(with = "crate::duration_text")]
    pub per: Duration,
    /// How many calls may leave at one moment after a rest. At least 1, at most `calls`. Default 1.
    #[serde(default = "one")]
    pub burst: u32,
    /// How long a call may wait for its turn; its deadline may be nearer. Default 0: it is turned away.
    #[serde(default, with = "crate::duration_text")]
    pub wait_max: Duration,
}

const fn one() -> u32 {
    1
}

impl RateOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(1..=1_000_000_000).contains(&self.calls) {
            faults.push(format!(
                "rate.calls {} is not within 1 and 10^9: give 1 or more",
                self.calls
            ));
        }
        if !(Duration::from_millis(1)..=Duration::from_secs(86_400)).contains(&self.per) {
            faults.push(format!(
                "rate.per {:?} is not within 1ms and 1d: give 1s",
                self.per
            ));
        }
        if self.burst == 0 || self.burst > self.calls {
            faults.push(format!(
                "rate.burst {} is not within 1 and calls {}: give 1",
                self.burst, self.calls
            ));
        }
        if self.wait_max > Duration::from_secs(3600) {
            faults.push(format!(
                "rate.wait_max {:?} is above 1h: lower it",
                self.wait_max
            ));
        }
        faults
    }

    /// The time between two calls at the full rate, at least a nanosecond.
    pub(super) fn interval(&self) -> u64 {
        (crate::clock::nanos(self.per) / u64::from(self.calls.max(1))).max(1)
    }
}
