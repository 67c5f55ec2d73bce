//! What a breaker does while a dependency is down and comes back, call by call.

use std::time::Duration;

use surefoot_core::time::Roll;

use crate::breaker::{Breaker, BreakerOptions, Evidence};
use crate::clock::Moment;

/// One call of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, in milliseconds.
    pub at_ms: u64,
    /// Whether the dependency is up.
    pub up: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// When, in milliseconds.
    pub at_ms: u64,
    /// Whether the dependency was up.
    pub up: bool,
    /// Whether the caller got a value, not the fallback.
    pub value: bool,
    /// The state of the breaker afterwards.
    pub state: &'static str,
    /// How many calls have reached the dependency so far.
    pub calls: u32,
}

/// Runs a script against a breaker with these options.
#[must_use]
pub fn breaker_trace(options: &BreakerOptions, script: &[Step]) -> Vec<TraceRow> {
    let breaker = Breaker::new(options);
    let middle = || Roll(u64::MAX / 2);
    let mut calls = 0;
    script
        .iter()
        .map(|Step { at_ms, up }| {
            let now = Moment::ZERO.after(Duration::from_millis(*at_ms));
            let mut value = false;
            if let Ok((permit, _)) = breaker.admit(options, now, middle) {
                calls += 1;
                value = *up;
                permit.settle(
                    options,
                    if *up {
                        Evidence::Alive
                    } else {
                        Evidence::Failed
                    },
                    now,
                    middle,
                );
            }
            TraceRow {
                at_ms: *at_ms,
                up: *up,
                value,
                state: breaker.state(options, now).as_str(),
                calls,
            }
        })
        .collect()
}
