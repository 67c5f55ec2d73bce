//! Points in time as integers, so that every store keeps them exactly and compares them alike.
//! It never reads a clock: `now` is always an argument.

use std::fmt;
use std::time::Duration;

/// Microseconds since 1970-01-01T00:00:00Z, the unit of every time stamp in both databases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The latest time that RFC 3339 can write with four digits of year: 9999-12-31T23:59:59Z.
    pub const MAX: Self = Self(253_402_300_799_000_000);
    /// 1970-01-01T00:00:00Z, the earliest time the engine keeps.
    pub const MIN: Self = Self(0);

    /// A time from microseconds since 1970, clamped to [`MIN`](Self::MIN)..=[`MAX`](Self::MAX).
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        if micros < Self::MIN.0 {
            Self::MIN
        } else if micros > Self::MAX.0 {
            Self::MAX
        } else {
            Self(micros)
        }
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This time plus `delay`, at most [`MAX`](Self::MAX): a delay of any length is finite here.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        let delay = i64::try_from(delay.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_add(delay))
    }

    /// This time minus `delay`, at least [`MIN`](Self::MIN).
    #[must_use]
    pub fn before(self, delay: Duration) -> Self {
        let delay = i64::try_from(delay.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_sub(delay))
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

/// Where a caller takes `now` from. Core never calls it.
pub trait Clock: Send + Sync + 'static {
    /// The time, never earlier than an answer given before.
    fn now(&self) -> Timestamp;
}

/// One draw of randomness, handed in by the caller: uniform over all of `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roll(pub u64);

impl Roll {
    /// The draw as a fraction in `[0, 1)` with 53 bits.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
    pub fn fraction(self) -> f64 {
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(
            Timestamp::from_micros(5).after(Duration::MAX),
            Timestamp::MAX
        );
        assert_eq!(
            Timestamp::from_micros(5).before(Duration::MAX),
            Timestamp::MIN
        );
        assert_eq!(
            Timestamp::from_micros(5).since(Timestamp::from_micros(9)),
            Duration::ZERO
        );
    }

    #[test]
    fn a_roll_stays_below_one() {
        assert!(Roll(u64::MAX).fraction() < 1.0);
        assert!(Roll(0).fraction() == 0.0);
    }
}
