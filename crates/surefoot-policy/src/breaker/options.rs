//! When a breaker opens, how it tries again, and whether it does so at all. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot_core::backoff::{Backoff, Jitter};

use crate::window::{WINDOW_MAX, WINDOW_MIN};

/// The most probes that may be out at once.
pub const PROBES_MAX: u32 = 64;

/// Whether a breaker acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerMode {
    /// It opens and closes.
    #[default]
    On,
    /// It counts and says when it would have opened, and lets every call pass.
    MetricsOnly,
    /// It lets every call pass and counts nothing.
    Disabled,
}

/// The options of a breaker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerOptions {
    /// Whether it acts. Default on.
    pub mode: BreakerMode,
    /// How far back the ratios look, in ten buckets. 10 ms to 1 h, at least twice the attempt time-out.
    /// Default 10 s.
    #[serde(with = "crate::duration_text")]
    pub window: Duration,
    /// How many calls the window must hold before a ratio counts. Default 20.
    pub calls_min: u32,
    /// It opens at this share of failures. Above 0, at most 1. Default 0.5.
    pub failure_ratio: f64,
    /// It opens after so many failures in a row, whatever the ratio; 0 turns the rule off. Default 10.
    pub consecutive_failures: u32,
    /// A call that takes longer is slow, also while it is still out. Default none: the rule is off.
    #[serde(with = "crate::duration_text::optional")]
    pub slow_after: Option<Duration>,
    /// It opens at this share of slow calls. Above 0, at most 1. Default 0.8.
    pub slow_ratio: f64,
    /// How long it stays open the first time; each further time without a stable close doubles it. At least
    /// 1 ms; kept to half a millisecond, never longer. Default 5 s.
    #[serde(with = "crate::duration_text")]
    pub open_for: Duration,
    /// The longest it stays open. Default 60 s.
    #[serde(with = "crate::duration_text")]
    pub open_for_max: Duration,
    /// How far the open time is spread to both sides; 0 to 1. Default 0.1.
    pub open_jitter: f64,
    /// Closed for this long, the doubling starts again from `open_for`. Default 60 s.
    #[serde(with = "crate::duration_text")]
    pub stable_after: Duration,
    /// How many probes may be out at once while half open. 1 to [`PROBES_MAX`]. Default 1.
    pub probes: u32,
    /// How many probes must succeed before it closes; a single failure opens it again. Default 1.
    pub successes_to_close: u32,
    /// After this time a probe without result no longer holds its place. At least the attempt time-out.
    /// Default 10 s.
    #[serde(with = "crate::duration_text")]
    pub probe_lease: Duration,
    /// After it closes, a growing share of calls passes for this long; 0 lets all pass at once. Default 5 s.
    #[serde(with = "crate::duration_text")]
    pub ramp: Duration,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self {
            mode: BreakerMode::On,
            window: Duration::from_secs(10),
            calls_min: 20,
            failure_ratio: 0.5,
            consecutive_failures: 10,
            slow_after: None,
            slow_ratio: 0.8,
            open_for: Duration::from_secs(5),
            open_for_max: Duration::from_secs(60),
            open_jitter: 0.1,
            stable_after: Duration::from_secs(60),
            probes: 1,
            successes_to_close: 1,
            probe_lease: Duration::from_secs(10),
            ramp: Duration::from_secs(5),
        }
    }
}

impl BreakerOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut check = |sound: bool, fault: String| {
            if !sound {
                faults.push(format!("breaker.{fault}"));
            }
        };
        check(
            (WINDOW_MIN..=WINDOW_MAX).contains(&self.window),
            format!(
                "window {:?} is not within 10ms and 1h: give 10s, or another length in between",
                self.window
            ),
        );
        check(
            self.calls_min > 0,
            "calls_min is 0, so a first failure would open it: set 1 or more".to_owned(),
        );
        for (name, ratio) in [
            ("failure_ratio", self.failure_ratio),
            ("slow_ratio", self.slow_ratio),
        ] {
            check(
                ratio > 0.0 && ratio <= 1.0,
                format!("{name} {ratio} is not above 0 and at most 1: give 0.5 for one half"),
            );
        }
        check(
            self.slow_after != Some(Duration::ZERO),
            "slow_after is 0, so every call would be slow: give a time, or leave it out".to_owned(),
        );
        check(
            self.open_for >= Duration::from_millis(1),
            format!(
                "open_for {:?} is below 1ms: give 1ms or more",
                self.open_for
            ),
        );
        check(
            self.open_for <= self.open_for_max && self.open_for_max <= WINDOW_MAX,
            format!(
                "open_for_max {:?} is not within open_for {:?} and 1h: raise or lower it",
                self.open_for_max, self.open_for
            ),
        );
        check(
            (0.0..=1.0).contains(&self.open_jitter),
            format!(
                "open_jitter {} is not within 0 and 1: give 0.1 for a tenth",
                self.open_jitter
            ),
        );
        check(
            (1..=PROBES_MAX).contains(&self.probes),
            format!(
                "probes {} is not within 1 and {PROBES_MAX}: give 1",
                self.probes
            ),
        );
        check(
            self.successes_to_close > 0,
            "successes_to_close is 0, so nothing would close it: set 1 or more".to_owned(),
        );
        check(
            !self.probe_lease.is_zero(),
            "probe_lease is 0, so no probe would hold its place: give the attempt time-out or more"
                .to_owned(),
        );
        faults
    }

    /// How the open time grows.
    pub(super) fn open_times(&self) -> Backoff {
        let jitter = if self.open_jitter > 0.0 {
            Jitter::Fraction(self.open_jitter)
        } else {
            Jitter::None
        };
        Backoff::Exponential {
            base: self.open_for,
            factor: 2.0,
            cap: self.open_for_max,
            jitter,
        }
    }
}
