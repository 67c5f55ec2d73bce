//! A gate that the dependency closes for a time by `Retry-After`, for all its callers. It only ever stays
//! closed as long as the longest time that is honoured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{HELD_UP_MAX, Moment};

/// The gate before a dependency.
#[derive(Debug, Default)]
pub struct Gate(AtomicU64);

impl Gate {
    /// Closes it until `after` from now, at most `longest`; a gate that is closed for longer stays so. True when
    /// it was open.
    pub fn close(&self, after: Duration, longest: Duration, now: Moment) -> bool {
        let was_open = self.left(longest, now).is_zero();
        let end = now.after(after.min(longest)).as_nanos();
        if was_open {
            self.0.store(end, Ordering::Relaxed);
        } else {
            self.0.fetch_max(end, Ordering::Relaxed);
        }
        was_open
    }

    /// How long it is still closed; zero when it is open. More than `longest` means that the clock went back,
    /// and counts as open.
    #[must_use]
    #[inline]
    pub fn left(&self, longest: Duration, now: Moment) -> Duration {
        let left = Moment::from_nanos(self.0.load(Ordering::Relaxed)).since(now);
        if left > longest.saturating_add(HELD_UP_MAX) {
            Duration::ZERO
        } else {
            left.min(longest)
        }
    }

    /// Opens it.
    pub fn open(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}
