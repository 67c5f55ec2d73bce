//! How long to wait before work is tried again. A delay is finite at any attempt number, exact to
//! the nanosecond and spread out, so that a thousand jobs that failed together do not return together.

use std::time::Duration;

use crate::time::Roll;

/// The most delays that one list holds.
pub const BACKOFF_DELAYS_MAX: usize = 100;

/// How delays grow with the failures so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Backoff {
    /// The n-th delay of a list after the n-th failure; the last one repeats.
    List {
        /// At least one, at most [`BACKOFF_DELAYS_MAX`], each above zero.
        delays: Vec<Duration>,
        /// How delays are spread.
        jitter: Jitter,
    },
    /// `base * factor^(failures - 1)`, at most `cap`.
    Exponential {
        /// The delay after the first failure; above zero.
        base: Duration,
        /// What each further failure multiplies the delay with; finite, at least 1.
        factor: f64,
        /// The longest delay, jitter included.
        cap: Duration,
        /// How delays are spread.
        jitter: Jitter,
    },
}

/// How a delay `d` is spread. Each draw is uniform over a range, and where a cap bounds delays it
/// bounds the range, never the draw: at the cap delays still spread over at least half of the range
/// instead of piling up on one point.
///
/// Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    /// Exactly `d`.
    None,
    /// From 0 to `d`.
    Full,
    /// From `d / 2` to `d`.
    Equal,
    /// From `d * (1 - fraction)` to `d * (1 + fraction)`, at least one nanosecond to each side; the
    /// fraction is above 0 and at most 1. In an exponential backoff the upper end is at most the cap.
    Fraction(f64),
    /// From the base to three times the previous delay, at most the cap. Needs an exponential
    /// backoff, whose factor it does not use.
    Decorrelated,
}

impl Default for Backoff {
    /// 10 s, 30 s, 2 min, 10 min, each give or take a quarter.
    fn default() -> Self {
        Self::List {
            delays: [10, 30, 120, 600].map(Duration::from_secs).to_vec(),
            jitter: Jitter::Fraction(0.25),
        }
    }
}

impl Backoff {
    /// The delay after `failures` failures, counted from 1 (0 counts as 1).
    ///
    /// `previous` is the delay before the attempt that failed last; only decorrelated jitter looks at
    /// it. The same arguments give the same delay, on every platform.
    #[must_use]
    pub fn delay(&self, failures: u32, previous: Option<Duration>, roll: Roll) -> Duration {
        let (low, high) = self.range(failures, previous.map_or(0, |delay| delay.as_nanos()));
        duration(low + share(high - low, roll))
    }

    /// The longest that [`delay`](Self::delay) can be after `failures` failures, whatever the
    /// previous delay and the roll.
    #[must_use]
    pub fn longest(&self, failures: u32) -> Duration {
        duration(self.range(failures, Duration::MAX.as_nanos()).1)
    }

    /// Every fault of the values at once, each with its remedy; empty when there is none.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let jitter = match self {
            Self::List { delays, jitter } => {
                validate_list(delays, *jitter, &mut faults);
                jitter
            }
            Self::Exponential {
                base,
                factor,
                cap,
                jitter,
            } => {
                validate_exponential(*base, *factor, *cap, *jitter, &mut faults);
                jitter
            }
        };
        if let Jitter::Fraction(fraction) = jitter
            && !(*fraction > 0.0 && *fraction <= 1.0)
        {
            faults.push(format!(
                "jitter fraction {fraction} is not above 0 and at most 1: give 0.25 for a quarter, or choose no jitter"
            ));
        }
        faults
    }

    /// The shortest and the longest delay, in nanoseconds.
    fn range(&self, failures: u32, previous: u128) -> (u128, u128) {
        match self {
            Self::List { delays, jitter } => {
                let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
                let nanos = |delay: &Duration| delay.as_nanos();
                let delay = delays.get(index).or(delays.last()).map_or(0, nanos);
                let base = delays.first().map_or(0, nanos);
                let longest = delays.iter().max().map_or(0, nanos);
                match jitter {
                    Jitter::Decorrelated => decorrelated(base, longest, previous),
                    Jitter::None | Jitter::Full | Jitter::Equal | Jitter::Fraction(_) => {
                        spread(delay, *jitter, Duration::MAX.as_nanos())
                    }
                }
            }
            Self::Exponential {
                base,
                factor,
                cap,
                jitter,
            } => {
                let (base, cap) = (base.as_nanos(), cap.as_nanos());
                match jitter {
                    Jitter::Decorrelated => decorrelated(base, cap, previous),
                    Jitter::None | Jitter::Full | Jitter::Equal | Jitter::Fraction(_) => {
                        spread(grown(base, *factor, failures).min(cap), *jitter, cap)
                    }
                }
            }
        }
    }
}

fn validate_list(delays: &[Duration], jitter: Jitter, faults: &mut Vec<String>) {
    if delays.is_empty() {
        faults.push("the list of delays is empty: give at least one delay".to_owned());
    }
    if delays.len() > BACKOFF_DELAYS_MAX {
        faults.push(format!(
            "the list has {} delays: give at most {BACKOFF_DELAYS_MAX}, the last one repeats",
            delays.len()
        ));
    }
    for (index, _) in delays
        .iter()
        .enumerate()
        .filter(|(_, delay)| delay.is_zero())
    {
        faults.push(format!(
            "delay {} of the list is zero: give a delay above zero",
            index + 1
        ));
    }
    if jitter == Jitter::Decorrelated {
        faults.push(
            "a list of delays does not go with decorrelated jitter: choose full jitter or an exponential backoff"
                .to_owned(),
        );
    }
}

fn validate_exponential(
    base: Duration,
    factor: f64,
    cap: Duration,
    jitter: Jitter,
    faults: &mut Vec<String>,
) {
    if base.is_zero() {
        faults.push("the base delay is zero: give a base above zero".to_owned());
    }
    if !(factor.is_finite() && factor >= 1.0) {
        faults.push(format!(
            "factor {factor} does not let delays grow: give a finite factor of at least 1, such as 2"
        ));
    }
    if base > cap {
        faults.push(format!(
            "base {base:?} is above the cap {cap:?}: lower the base or raise the cap"
        ));
    }
    if base == cap && jitter == Jitter::Decorrelated {
        faults.push(format!(
            "base and cap are both {base:?}, which leaves decorrelated jitter no range: raise the cap"
        ));
    }
}

/// The range around `delay`, all in nanoseconds, with its upper end at most `cap`.
fn spread(delay: u128, jitter: Jitter, cap: u128) -> (u128, u128) {
    match jitter {
        Jitter::None => (delay, delay),
        Jitter::Full => (0, delay),
        Jitter::Equal => (delay / 2, delay),
        Jitter::Fraction(fraction) => {
            let side = side(delay, fraction);
            (delay - side, delay.saturating_add(side).min(cap.max(delay)))
        }
        Jitter::Decorrelated => decorrelated(delay, cap, delay),
    }
}

/// How far a fraction spreads `delay` to each side.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an `as` cast from float saturates and takes NaN to 0; the width of a spread need not be exact"
)]
fn side(delay: u128, fraction: f64) -> u128 {
    let side = (delay as f64 * fraction) as u128;
    side.clamp(u128::from(fraction > 0.0), delay.max(1))
        .min(delay)
}

fn decorrelated(base: u128, cap: u128, previous: u128) -> (u128, u128) {
    let low = base.min(cap);
    (low, previous.max(base).saturating_mul(3).min(cap))
}

/// `base * factor^(failures - 1)` in nanoseconds, saturating; `base` itself for a factor below 1 or NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an `as` cast from float saturates and takes NaN to 0; 53 bits are exact enough for a grown delay"
)]
fn grown(base: u128, factor: f64, failures: u32) -> u128 {
    let exponent = failures.saturating_sub(1);
    if exponent == 0 || factor.is_nan() || factor <= 1.0 {
        return base;
    }
    (base as f64 * power(factor, exponent)) as u128
}

/// By squaring, in at most 32 steps: unlike `powi`, it has the same bits on every platform.
fn power(mut factor: f64, mut exponent: u32) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product *= factor;
        }
        factor *= factor;
        exponent /= 2;
    }
    product
}

/// A uniform draw from `0..=width`, where `width` is a duration in nanoseconds (below 2^94).
pub(crate) fn share(width: u128, roll: Roll) -> u128 {
    let choices = width + 1;
    let (high, low) = (choices >> 64, choices & u128::from(u64::MAX));
    let roll = u128::from(roll.0);
    high * roll + ((low * roll) >> 64)
}

/// A duration from nanoseconds, at most [`Duration::MAX`].
pub(crate) fn duration(nanos: u128) -> Duration {
    const PER_SECOND: u128 = 1_000_000_000;
    match (
        u64::try_from(nanos / PER_SECOND),
        u32::try_from(nanos % PER_SECOND),
    ) {
        (Ok(seconds), Ok(rest)) => Duration::new(seconds, rest),
        _ => Duration::MAX,
    }
}

#[cfg(test)]
mod tests;
