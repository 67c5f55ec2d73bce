//! How often and how far apart a call is tried. Plain data; the arithmetic is the core's.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot_core::backoff::{Backoff, Jitter};

use super::backoff_text::Text;

/// The most attempts of one call.
pub const ATTEMPTS_MAX: u32 = 20;

/// The options of retries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryOptions {
    /// How many attempts a call has, the first included; 1 turns retries off. At most [`ATTEMPTS_MAX`].
    /// Default 3.
    pub attempts_max: u32,
    /// How long to wait between them. Default 100 ms doubling to 5 s, with full jitter.
    pub backoff: BackoffOptions,
    /// The longest `Retry-After` that is honoured for the dependency as a whole. A call whose deadline is nearer
    /// fails at once. Default 5 min.
    #[serde(with = "crate::duration_text")]
    pub retry_after_max: Duration,
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self {
            attempts_max: 3,
            backoff: BackoffOptions::default(),
            retry_after_max: Duration::from_secs(300),
        }
    }
}

/// How the waits grow. As text it is a table with `base`, `factor` and `cap`, or one with `delays`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Text", try_from = "Text")]
pub enum BackoffOptions {
    /// `base * factor^(failures - 1)`, at most `cap`.
    Exponential(Exponential),
    /// The n-th of a list; the last one repeats.
    List(Delays),
}

/// Waits that grow.
#[derive(Clone, Debug, PartialEq)]
pub struct Exponential {
    /// The first wait.
    pub base: Duration,
    /// What each further failure multiplies it with. Default 2.
    pub factor: f64,
    /// The longest wait, jitter included. Default 5 s.
    pub cap: Duration,
    /// How it is spread. Default full.
    pub jitter: JitterOptions,
}

/// Waits as a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Delays {
    /// The waits.
    pub delays: Vec<Duration>,
    /// How they are spread. Default full.
    pub jitter: JitterOptions,
}

/// How a wait is spread; see [`Jitter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterOptions {
    /// Not at all: callers that failed together return together.
    None,
    /// From 0 to the wait. The default.
    #[default]
    Full,
    /// From half of the wait to all of it.
    Equal,
    /// So much to both sides.
    Fraction(f64),
    /// From the base to three times the last wait.
    Decorrelated,
}

/// What each failure multiplies the wait with when nothing else is said.
pub(super) const FACTOR: f64 = 2.0;
/// The longest wait when nothing else is said.
pub(super) const CAP: Duration = Duration::from_secs(5);

impl Default for BackoffOptions {
    fn default() -> Self {
        Self::exponential(Duration::from_millis(100), CAP)
    }
}

impl BackoffOptions {
    /// Doubling from `base` to `cap` with full jitter.
    #[must_use]
    pub const fn exponential(base: Duration, cap: Duration) -> Self {
        Self::Exponential(Exponential {
            base,
            factor: FACTOR,
            cap,
            jitter: JitterOptions::Full,
        })
    }

    /// The core's backoff with these values.
    #[must_use]
    pub fn backoff(&self) -> Backoff {
        match self {
            Self::Exponential(Exponential {
                base,
                factor,
                cap,
                jitter,
            }) => Backoff::Exponential {
                base: *base,
                factor: *factor,
                cap: *cap,
                jitter: jitter.jitter(),
            },
            Self::List(Delays { delays, jitter }) => Backoff::List {
                delays: delays.clone(),
                jitter: jitter.jitter(),
            },
        }
    }
}

impl JitterOptions {
    const fn jitter(self) -> Jitter {
        match self {
            Self::None => Jitter::None,
            Self::Full => Jitter::Full,
            Self::Equal => Jitter::Equal,
            Self::Fraction(fraction) => Jitter::Fraction(fraction),
            Self::Decorrelated => Jitter::Decorrelated,
        }
    }
}

impl RetryOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(1..=ATTEMPTS_MAX).contains(&self.attempts_max) {
            faults.push(format!(
                "retry.attempts_max {} is not within 1 and {ATTEMPTS_MAX}: give 3, or 1 for no retries",
                self.attempts_max
            ));
        }
        if self.retry_after_max.is_zero() || self.retry_after_max > Duration::from_secs(86_400) {
            faults.push(format!(
                "retry.retry_after_max {:?} is not above 0 and at most 1d: give 5m",
                self.retry_after_max
            ));
        }
        faults.extend(
            self.backoff
                .backoff()
                .validate()
                .into_iter()
                .map(|fault| format!("retry.backoff: {fault}")),
        );
        faults
    }
}
