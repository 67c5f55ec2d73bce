//! Where time and randomness come from. Every state in this crate takes `now` and a roll as arguments; only
//! the engine asks these sources. It must never read the wall clock: a dependency's state knows no dates.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use surefoot_core::time::Roll;

/// A point on a monotonic scale, in nanoseconds. Its zero has no meaning; 64 bits last 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The earliest point.
    pub const ZERO: Self = Self(0);
    /// The latest point: a time that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// A point from its nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Its nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This point plus `delay`, at most [`NEVER`](Self::NEVER).
    #[must_use]
    #[inline]
    pub fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(nanos(delay)))
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// How far the clocks of two threads may seem apart: one of them read the time and was then held up. A time
/// that lies further ahead than it can by more than this shows that the clock went back.
pub(crate) const HELD_UP_MAX: Duration = Duration::from_secs(1);

/// A duration in nanoseconds, at most `u64::MAX`.
#[must_use]
#[inline]
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A monotonic clock. One that can go back is to be wrapped in [`Steady`].
pub trait Clock: Send + Sync + 'static {
    /// The present point.
    fn now(&self) -> Moment;
}

/// Tokio's clock, and with it the virtual one of a paused runtime. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    #[inline]
    fn now(&self) -> Moment {
        /// Far enough above zero that a runtime whose virtual time began before the process asked first
        /// still finds its own past.
        const HEADROOM: u64 = 1 << 56;
        static ZERO: OnceLock<std::time::Instant> = OnceLock::new();
        let zero = *ZERO.get_or_init(std::time::Instant::now);
        let now = tokio::time::Instant::now().into_std();
        match now.checked_duration_since(zero) {
            Some(ahead) => Moment(HEADROOM.saturating_add(nanos(ahead))),
            None => Moment(HEADROOM.saturating_sub(nanos(zero.saturating_duration_since(now)))),
        }
    }
}

/// Makes a clock that may jump back a monotonic one: at a step back time stands still for a moment and then
/// goes on at its own pace, so that nothing that waits is made to wait longer. A step ahead passes through.
#[derive(Debug)]
pub struct Steady<C> {
    raw: C,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    raw: u64,
    ahead: u64,
}

impl<C> Steady<C> {
    /// Steadies `raw`.
    pub fn new(raw: C) -> Self {
        Self {
            raw,
            seen: Mutex::new(Seen::default()),
        }
    }
}

impl<C: Clock> Clock for Steady<C> {
    fn now(&self) -> Moment {
        let raw = self.raw.now().0;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if raw < seen.raw {
            seen.ahead = seen.ahead.saturating_add(seen.raw - raw);
        }
        seen.raw = raw;
        Moment(raw.saturating_add(seen.ahead))
    }
}

/// A clock that stands still until it is told to move: for tests and simulations.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub const fn at(start: Moment) -> Self {
        Self(AtomicU64::new(start.0))
    }

    /// Moves it to `moment`, also back.
    pub fn set(&self, moment: Moment) {
        self.0.store(moment.0, Ordering::SeqCst);
    }

    /// Moves it ahead by `step`.
    pub fn advance(&self, step: Duration) {
        self.set(self.now().after(step));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }
}

/// A shared clock is a clock.
impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Moment {
        (**self).now()
    }
}

/// A source of randomness.
pub trait Dice: Send + Sync + 'static {
    /// One draw.
    fn roll(&self) -> Roll;
}

/// A generator of the thread, seeded by the system. The default. Not for secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadDice;

impl Dice for ThreadDice {
    fn roll(&self) -> Roll {
        Roll(fastrand::u64(..))
    }
}

/// The same draws for the same seed (splitmix64): for tests and simulations.
#[derive(Debug)]
pub struct SeededDice(AtomicU64);

impl SeededDice {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    /// Dice that start from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Dice for SeededDice {
    fn roll(&self) -> Roll {
        let mut mixed = self
            .0
            .fetch_add(Self::STEP, Ordering::Relaxed)
            .wrapping_add(Self::STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Roll(mixed ^ (mixed >> 31))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_step_back_neither_goes_back_nor_stands_still_for_long() {
        let raw = Arc::new(ManualClock::at(Moment::from_nanos(1_000)));
        let steady = Steady::new(Arc::clone(&raw));
        assert_eq!(steady.now().as_nanos(), 1_000);
        raw.set(Moment::from_nanos(10));
        assert_eq!(steady.now().as_nanos(), 1_000);
        raw.set(Moment::from_nanos(60));
        assert_eq!(steady.now().as_nanos(), 1_050);
        raw.set(Moment::from_nanos(5_000));
        assert_eq!(steady.now().as_nanos(), 5_990);
    }

    #[tokio::test(start_paused = true)]
    async fn the_default_clock_follows_a_paused_runtime() {
        let before = TokioClock.now();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let passed = TokioClock.now().since(before);
        assert!(
            passed >= Duration::from_secs(3600) && passed < Duration::from_secs(3601),
            "{passed:?}"
        );
    }

    #[test]
    fn seeded_dice_repeat_and_differ_by_seed() {
        let draw = |seed| {
            let dice = SeededDice::new(seed);
            [dice.roll().0, dice.roll().0]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_ne!(draw(7)[0], draw(7)[1]);
    }
}
