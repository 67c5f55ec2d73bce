//! What a policy amounts to: the most calls, the longest time, and what is odd about it though not wrong.

use std::fmt;
use std::time::Duration;

use super::Policy;
use crate::breaker::BreakerMode;
use crate::duration_text::written;
use crate::retry::{BackoffOptions, JitterOptions};

/// What a policy amounts to.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The most sends of one call, hedges included. The HTTP client may add one that costs nothing: a replay when an
    /// idle connection turns out to be closed before a byte has left.
    pub sends_max: u32,
    /// The longest that one call can take.
    pub time_max: Duration,
    /// The longest that all attempts and waits would take if no total deadline cut them off.
    pub time_uncut: Duration,
    /// How many calls one hundred calls become in the long run, at most, while the budget acts.
    pub sends_per_hundred: f64,
    /// What is odd though not wrong, each with what to do.
    pub warnings: Vec<String>,
    /// What guards the calls, outermost first.
    pub order: Vec<String>,
}

impl Policy {
    /// What this policy amounts to.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let attempts = self.retry.attempts_max;
        let hedged = if self.hedge.is_some() { 2 } else { 1 };
        let backoff = self.retry.backoff.backoff();
        let waits = (1..attempts).fold(Duration::ZERO, |sum, failures| {
            sum.saturating_add(backoff.longest(failures))
        });
        let time_uncut = self
            .timeout
            .attempt
            .saturating_mul(attempts)
            .saturating_add(waits);
        Explanation {
            sends_max: attempts.saturating_mul(hedged),
            time_max: time_uncut.min(self.timeout.total),
            time_uncut,
            sends_per_hundred: self.sends_per_hundred(attempts.saturating_mul(hedged)),
            warnings: self.warnings(time_uncut),
            order: self.order(),
        }
    }

    fn sends_per_hundred(&self, sends_max: u32) -> f64 {
        let most = 100.0 * f64::from(sends_max);
        if self.budget.enabled {
            (100.0 * (1.0 + self.budget.ratio)).min(most)
        } else {
            most
        }
    }

    fn warnings(&self, time_uncut: Duration) -> Vec<String> {
        let mut warnings = Vec::new();
        let retries = self.retry.attempts_max > 1;
        if retries && !self.budget.enabled {
            warnings.push(format!(
                "retries have no budget: an outage multiplies the calls by {}; enable it",
                self.retry.attempts_max
            ));
        }
        if time_uncut > self.timeout.total {
            warnings.push(format!(
                "all attempts together may take {}, the total deadline cuts them off at {}: the last ones may not run",
                written(time_uncut),
                written(self.timeout.total)
            ));
        }
        let jitter = match &self.retry.backoff {
            BackoffOptions::Exponential(backoff) => backoff.jitter,
            BackoffOptions::List(list) => list.jitter,
        };
        if retries && jitter == JitterOptions::None {
            warnings.push(
                "waits have no jitter: callers that fail together come back together; use full"
                    .to_owned(),
            );
        }
        if self.bulkhead.queue_max > 0 && self.bulkhead.queue_wait_max >= self.timeout.total {
            warnings.push(
                "a call may spend its whole time in the queue; lower bulkhead.queue_wait_max"
                    .to_owned(),
            );
        }
        match self.breaker.mode {
            BreakerMode::On => {}
            BreakerMode::MetricsOnly => {
                warnings.push("the breaker only measures and lets every call pass".to_owned())
            }
            BreakerMode::Disabled => {
                warnings.push(
                    "the breaker is off: a dead dependency costs every caller its time-out"
                        .to_owned(),
                );
            }
        }
        if self.breaker.mode == BreakerMode::On && self.breaker.consecutive_failures == 0 {
            warnings.push(format!(
                "the breaker looks at ratios only: below {} calls per {} it never opens",
                self.breaker.calls_min,
                written(self.breaker.window)
            ));
        }
        if self.fault.is_some() {
            warnings.push("faults are injected on purpose".to_owned());
        }
        warnings
    }

    fn order(&self) -> Vec<String> {
        let mut order = Vec::new();
        if let Some(fallback) = &self.fallback {
            order.push(format!("fallback: {}", fallback.kind.as_str()));
        }
        order.push(format!("total deadline: {}", written(self.timeout.total)));
        order.push(format!("attempts: {}", self.retry.attempts_max));
        if let Some(hedge) = &self.hedge {
            order.push(format!(
                "hedge: after {} and percentile {}",
                written(hedge.after),
                hedge.percentile
            ));
        }
        order.push(if self.budget.enabled {
            format!(
                "budget: {} extra sends per hundred successes within {}, {} per second besides",
                self.budget.ratio * 100.0,
                written(self.budget.window),
                self.budget.reserve_per_second
            )
        } else {
            "budget: none".to_owned()
        });
        if let Some(rate) = &self.rate {
            order.push(format!(
                "rate: {} per {}, burst {}",
                rate.calls,
                written(rate.per),
                rate.burst
            ));
        }
        order.push(self.breaker_line());
        let out = match &self.adaptive {
            None => format!("{} out", self.bulkhead.limit),
            Some(adaptive) => format!(
                "{} to {} out as the latency allows",
                adaptive.limit_min, adaptive.limit_max
            ),
        };
        let waiting = self.bulkhead.queue_max;
        order.push(format!("bulkhead: {out}, {waiting} waiting"));
        order.push(format!(
            "attempt time-out: {}",
            written(self.timeout.attempt)
        ));
        order
    }

    fn breaker_line(&self) -> String {
        let options = &self.breaker;
        let acts = match options.mode {
            BreakerMode::On => "opens",
            BreakerMode::MetricsOnly => "only says that it would open",
            BreakerMode::Disabled => return "breaker: off".to_owned(),
        };
        let mut line = format!(
            "breaker: {acts} at {} % of {} calls within {}",
            options.failure_ratio * 100.0,
            options.calls_min,
            written(options.window)
        );
        if let Some(slow_after) = options.slow_after {
            let (share, slow) = (options.slow_ratio * 100.0, written(slow_after));
            line.push_str(&format!("; at {share} % that take {slow} or longer"));
        }
        if options.consecutive_failures > 0 {
            let row = options.consecutive_failures;
            line.push_str(&format!("; at {row} failures in a row"));
        }
        line
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "one call is sent at most {} times and takes at most {}",
            self.sends_max,
            written(self.time_max)
        )?;
        writeln!(
            f,
            "one hundred calls become at most {:.0} in the long run",
            self.sends_per_hundred
        )?;
        for guard in &self.order {
            writeln!(f, "  {guard}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}
