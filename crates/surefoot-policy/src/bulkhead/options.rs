//! How many calls may be out, and how many may wait. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The highest limit, and the longest queue.
pub const LIMIT_MAX: u32 = 1 << 20;

/// The options of a bulkhead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BulkheadOptions {
    /// How many calls may be out at once. 1 to [`LIMIT_MAX`]. Default 256.
    pub limit: u32,
    /// How many calls may wait for a place; 0 turns a call away as soon as the limit is reached. At most
    /// [`LIMIT_MAX`]. Default 256.
    pub queue_max: u32,
    /// How long a call waits at most; its deadline may be nearer. Default 1 s.
    #[serde(with = "crate::duration_text")]
    pub queue_wait_max: Duration,
}

impl Default for BulkheadOptions {
    fn default() -> Self {
        Self {
            limit: 256,
            queue_max: 256,
            queue_wait_max: Duration::from_secs(1),
        }
    }
}

impl BulkheadOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(1..=LIMIT_MAX).contains(&self.limit) {
            faults.push(format!(
                "bulkhead.limit {} is not within 1 and {LIMIT_MAX}: with 0 every call would wait for ever; give 256",
                self.limit
            ));
        }
        if self.queue_max > LIMIT_MAX {
            faults.push(format!(
                "bulkhead.queue_max {} is above {LIMIT_MAX}: give 256",
                self.queue_max
            ));
        }
        if self.queue_max > 0 && self.queue_wait_max.is_zero() {
            faults.push(
                "bulkhead.queue_wait_max is 0, so nobody could wait: give 1s, or set queue_max to 0".to_owned(),
            );
        }
        faults
    }
}
