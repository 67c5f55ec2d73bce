//! How clients that failed together come back: all at once, or spread.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::{Dice, SeededDice};
use crate::retry::{BackoffOptions, Exponential, JitterOptions};

/// Bins of this width are counted, aligned at the moment of the first failure.
const BIN: Duration = Duration::from_millis(100);

/// How the clients wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// One second each time.
    Fixed,
    /// 100 ms, doubling, no jitter.
    Exponential,
    /// 100 ms, doubling, full jitter.
    FullJitter,
}

impl Spread {
    fn options(self) -> BackoffOptions {
        /// High enough to cap nothing.
        const CAP: Duration = Duration::from_secs(86_400);
        let exponential = |base, factor, jitter| {
            BackoffOptions::Exponential(Exponential {
                base,
                factor,
                cap: CAP,
                jitter,
            })
        };
        match self {
            Self::Fixed => exponential(Duration::from_secs(1), 1.0, JitterOptions::None),
            Self::Exponential => exponential(BIN, 2.0, JitterOptions::None),
            Self::FullJitter => exponential(BIN, 2.0, JitterOptions::Full),
        }
    }
}

/// The most retries that fall into one bin of 100 ms, for each of `rounds` rounds, when `clients` fail at once
/// and fail again at each retry.
#[must_use]
pub fn herd(spread: Spread, clients: u32, rounds: u32, seed: u64) -> Vec<u32> {
    let (backoff, dice) = (spread.options().backoff(), SeededDice::new(seed));
    let mut at = vec![Duration::ZERO; clients as usize];
    let mut most = Vec::new();
    for failures in 1..=rounds {
        let mut bins: BTreeMap<u128, u32> = BTreeMap::new();
        for time in &mut at {
            *time += backoff.delay(failures, None, dice.roll());
            *bins.entry(time.as_nanos() / BIN.as_nanos()).or_default() += 1;
        }
        most.push(bins.into_values().max().unwrap_or(0));
    }
    most
}
