//! The one source of randomness of a client and its engine, so that a seed replays their choices.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use surefoot_core::time::Roll;

/// Shared dice.
#[derive(Debug)]
pub(crate) struct Dice(Mutex<fastrand::Rng>);

impl Dice {
    /// Dice that the operating system seeds.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(fastrand::Rng::new()))
    }

    /// Dice that fall the same way each time for one seed and name. Names keep nodes of one seed apart: they must not
    /// make the same job ids.
    pub(crate) fn seeded(seed: u64, name: &str) -> Self {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let salt = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        Self(Mutex::new(fastrand::Rng::with_seed(seed ^ salt)))
    }

    fn with<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn roll(&self) -> Roll {
        Roll(self.with(|rng| rng.u64(..)))
    }

    pub(crate) fn bytes(&self) -> [u8; 10] {
        let mut bytes = [0; 10];
        self.with(|rng| rng.fill(&mut bytes));
        bytes
    }

    /// `about`, give or take a quarter, so that nodes that started together do not stay together.
    pub(crate) fn around(&self, about: Duration) -> Duration {
        about.mul_f64(0.75 + 0.5 * self.roll().fraction())
    }

    /// Anything from zero to `most`.
    pub(crate) fn up_to(&self, most: Duration) -> Duration {
        most.mul_f64(self.roll().fraction())
    }
}

/// A delay that doubles with each failure up to a cap, full jitter over its upper half.
#[derive(Debug)]
pub(crate) struct Rest {
    next: Duration,
}

impl Rest {
    /// The first delay after a failure of the store.
    const FIRST: Duration = Duration::from_millis(50);
    /// The longest: work goes on within seconds after the database came back.
    const LONGEST: Duration = Duration::from_secs(4);

    pub(crate) const fn new() -> Self {
        Self { next: Self::FIRST }
    }

    pub(crate) fn after_failure(&mut self, dice: &Dice) -> Duration {
        let half = self.next / 2;
        self.next = (self.next * 2).min(Self::LONGEST);
        half + dice.up_to(half)
    }

    pub(crate) const fn reset(&mut self) {
        self.next = Self::FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_one_seed_make_different_ids() {
        let ids = |name| Dice::seeded(7, name).bytes();
        assert_eq!(ids("a"), ids("a"));
        assert_ne!(ids("a"), ids("b"));
    }

    #[test]
    fn rests_grow_to_their_cap_and_start_over() {
        let dice = Dice::seeded(1, "node");
        let mut rest = Rest::new();
        let delays: Vec<Duration> = (0..12).map(|_| rest.after_failure(&dice)).collect();
        assert!(delays[0] >= Rest::FIRST / 2 && delays[0] <= Rest::FIRST);
        assert!(
            delays.iter().all(|delay| *delay <= Rest::LONGEST),
            "{delays:?}"
        );
        assert!(delays[11] >= Rest::LONGEST / 2, "{delays:?}");
        rest.reset();
        assert!(rest.after_failure(&dice) <= Rest::FIRST);
    }
}
