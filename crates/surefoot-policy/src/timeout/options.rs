//! The time-outs of a call. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest total deadline.
const TOTAL_MAX: Duration = Duration::from_secs(86_400);

/// The time-outs of a call: connect < attempt <= total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeoutOptions {
    /// To connect. Applied by the HTTP client, and told to the call. Default 1 s.
    #[serde(with = "crate::duration_text")]
    pub connect: Duration,
    /// One attempt, from the moment it is sent. Default 5 s.
    #[serde(with = "crate::duration_text")]
    pub attempt: Duration,
    /// The whole call with its queues, waits and attempts. At most one day. Default 20 s.
    #[serde(with = "crate::duration_text")]
    pub total: Duration,
    /// The shortest time in which an attempt can end: none starts with less time left. Default 5 ms.
    #[serde(with = "crate::duration_text")]
    pub attempt_min: Duration,
}

impl Default for TimeoutOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(1),
            attempt: Duration::from_secs(5),
            total: Duration::from_secs(20),
            attempt_min: Duration::from_millis(5),
        }
    }
}

impl TimeoutOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let rungs = [
            ("connect", self.connect),
            ("attempt", self.attempt),
            ("total", self.total),
        ];
        for (name, value) in rungs {
            if value.is_zero() {
                faults.push(format!(
                    "timeout.{name} is 0, so nothing could ever succeed: give a time above zero"
                ));
            }
        }
        if self.connect >= self.attempt {
            faults.push(format!(
                "timeout.connect {:?} is not below attempt {:?}, so a failed connect would look like a lost answer: \
                 lower connect or raise attempt",
                self.connect, self.attempt
            ));
        }
        if self.attempt > self.total {
            faults.push(format!(
                "timeout.attempt {:?} is above total {:?}, so it would never fire: lower attempt or raise total",
                self.attempt, self.total
            ));
        }
        if self.total > TOTAL_MAX {
            faults.push(format!(
                "timeout.total {:?} is above one day: lower it",
                self.total
            ));
        }
        if self.attempt_min > self.attempt {
            faults.push(format!(
                "timeout.attempt_min {:?} is above attempt {:?}, so no attempt would ever start: lower it",
                self.attempt_min, self.attempt
            ));
        }
        faults
    }
}
