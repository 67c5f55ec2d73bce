//! Counts over the recent past, in ten buckets that forget by themselves. Adding is one atomic addition and a
//! sum is thirty loads, whatever the number of calls. It must never lock, allocate or lose its generation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Moment, nanos};

/// How many buckets a window has: it covers between nine and ten tenths of its length.
pub const BUCKETS: usize = 10;
/// The shortest window: a millisecond per bucket.
pub const WINDOW_MIN: Duration = Duration::from_millis(10);
/// The longest window.
pub const WINDOW_MAX: Duration = Duration::from_secs(3600);

/// What is counted of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// It counts at all.
    Total,
    /// It failed.
    Failed,
    /// It took longer than the slow line.
    Slow,
}

/// The counts of a window at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All calls.
    pub total: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were slow.
    pub slow: u64,
}

/// A ring of buckets. Each counter carries the lap and the generation it belongs to, so that a bucket that
/// comes round again, or a new generation, starts from nothing without anybody clearing it.
#[derive(Debug)]
pub(crate) struct Window {
    width: AtomicU64,
    /// The tick of the last call, which the next one mostly shares: a multiplication shows it, and spares a division.
    tick: AtomicU64,
    buckets: [Bucket; BUCKETS],
}

#[derive(Debug, Default)]
struct Bucket {
    total: Tagged,
    failed: Tagged,
    slow: Tagged,
}

impl Bucket {
    const fn of(&self, count: Count) -> &Tagged {
        match count {
            Count::Total => &self.total,
            Count::Failed => &self.failed,
            Count::Slow => &self.slow,
        }
    }
}

impl Window {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            width: AtomicU64::new(width(length)),
            tick: AtomicU64::new(0),
            buckets: Default::default(),
        }
    }

    /// Counts one call at `now` for `generation`.
    #[inline]
    pub(crate) fn add(&self, now: Moment, generation: u32, count: Count) {
        self.add_many(now, generation, count, 1);
    }

    /// What `generation` counted in the window that ends at `now`.
    pub(crate) fn sum(&self, now: Moment, generation: u32) -> Counts {
        let last = now.as_nanos() / self.width.load(Ordering::Relaxed);
        let mut counts = Counts::default();
        for back in 0..BUCKETS as u64 {
            let Some(tick) = last.checked_sub(back) else {
                break;
            };
            let (bucket, tag) = (self.bucket(tick), Tag::new(tick, generation));
            counts.total += bucket.total.value(tag);
            counts.failed += bucket.failed.value(tag);
            counts.slow += bucket.slow.value(tag);
        }
        counts
    }

    /// Changes the length and carries what is counted over into the newest bucket. A call that is counted at
    /// this very moment may be missed.
    pub(crate) fn resize(&self, length: Duration, now: Moment, generation: u32) {
        if self.width.load(Ordering::Relaxed) == width(length) {
            return;
        }
        let counts = self.sum(now, generation);
        self.width.store(width(length), Ordering::Relaxed);
        for (count, value) in [
            (Count::Total, counts.total),
            (Count::Failed, counts.failed),
            (Count::Slow, counts.slow),
        ] {
            let tick = now.as_nanos() / width(length);
            let value = value.min(Tagged::CEILING);
            self.bucket(tick)
                .of(count)
                .set(Tag::new(tick, generation), value);
        }
    }

    #[inline]
    fn add_many(&self, now: Moment, generation: u32, count: Count, by: u64) {
        let tick = self.tick(now);
        self.bucket(tick)
            .of(count)
            .add(Tag::new(tick, generation), by);
    }

    /// How many times the width of a bucket fits into `now`.
    #[inline]
    fn tick(&self, now: Moment) -> u64 {
        let (now, width) = (now.as_nanos(), self.width.load(Ordering::Relaxed));
        let last = self.tick.load(Ordering::Relaxed);
        let begin = last.checked_mul(width);
        if begin.is_some_and(|begin| now.wrapping_sub(begin) < width) {
            return last;
        }
        let tick = now / width;
        self.tick.store(tick, Ordering::Relaxed);
        tick
    }

    #[inline]
    fn bucket(&self, tick: u64) -> &Bucket {
        &self.buckets[usize::try_from(tick % BUCKETS as u64).unwrap_or(0)]
    }
}

fn width(length: Duration) -> u64 {
    (nanos(length) / BUCKETS as u64).max(1)
}

/// Eight bits of the generation and 24 bits of the lap. A lap comes back after 2^24 windows: five years of
/// ten-second windows without one call in that bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag(u32);

impl Tag {
    const LAP_BITS: u32 = 24;
    /// How many laps or generations a counter may be ahead of a writer that was held up. More means that the
    /// clock has gone back, or that the numbers have wrapped.
    const HELD_UP_MAX: u32 = 2;

    #[inline]
    fn new(tick: u64, generation: u32) -> Self {
        let lap = u32::try_from((tick / BUCKETS as u64) & ((1 << Self::LAP_BITS) - 1)).unwrap_or(0);
        Self((generation << Self::LAP_BITS) | lap)
    }

    /// Whether a writer under this tag is late for a counter that stands at `other`: that one belongs to a
    /// newer generation, or to one of the next laps.
    const fn is_late_for(self, other: Self) -> bool {
        let generations = (other.0 >> Self::LAP_BITS).wrapping_sub(self.0 >> Self::LAP_BITS) & 0xFF;
        let laps = other.0.wrapping_sub(self.0) & ((1 << Self::LAP_BITS) - 1);
        match generations {
            0 => laps != 0 && laps <= Self::HELD_UP_MAX,
            ahead => ahead <= Self::HELD_UP_MAX,
        }
    }
}

/// A tag above a count of 32 bits.
#[derive(Debug, Default)]
struct Tagged(AtomicU64);

impl Tagged {
    /// Where a count stops, with room for the additions that are under way.
    const CEILING: u64 = (1 << 32) - (1 << 20);

    #[inline]
    fn add(&self, tag: Tag, by: u64) {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let (found, count) = split(seen);
            if found == tag {
                if count < Self::CEILING {
                    self.0.fetch_add(by, Ordering::Relaxed);
                }
                return;
            }
            if seen != 0 && tag.is_late_for(found) {
                return;
            }
            let fresh = joined(tag, by);
            match self
                .0
                .compare_exchange_weak(seen, fresh, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }

    fn set(&self, tag: Tag, count: u64) {
        self.0.store(joined(tag, count), Ordering::Relaxed);
    }

    fn value(&self, tag: Tag) -> u64 {
        let (found, count) = split(self.0.load(Ordering::Relaxed));
        if found == tag { count } else { 0 }
    }
}

#[inline]
fn split(word: u64) -> (Tag, u64) {
    (
        Tag(u32::try_from(word >> 32).unwrap_or(0)),
        word & u64::from(u32::MAX),
    )
}

fn joined(tag: Tag, count: u64) -> u64 {
    (u64::from(tag.0) << 32) | count
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: f64) -> Moment {
        Moment::ZERO.after(Duration::from_secs_f64(1000.0 + seconds))
    }

    fn window() -> Window {
        Window::new(Duration::from_secs(10))
    }

    #[test]
    fn what_is_older_than_the_window_is_gone() {
        let window = window();
        for _ in 0..1000 {
            window.add(at(0.0), 1, Count::Total);
        }
        window.add(at(5.0), 1, Count::Failed);
        assert_eq!(
            window.sum(at(9.9), 1),
            Counts {
                total: 1000,
                failed: 1,
                slow: 0
            }
        );
        assert_eq!(
            window.sum(at(10.0), 1),
            Counts {
                total: 0,
                failed: 1,
                slow: 0
            }
        );
        assert_eq!(window.sum(at(3600.0), 1), Counts::default());
        window.add(at(20.0), 1, Count::Total);
        assert_eq!(window.sum(at(20.0), 1).total, 1);
    }

    #[test]
    fn another_generation_starts_from_nothing_and_a_stale_one_cannot_add() {
        let window = window();
        window.add(at(0.0), 1, Count::Failed);
        assert_eq!(window.sum(at(0.0), 2), Counts::default());
        window.add(at(0.0), 2, Count::Failed);
        window.add(at(0.0), 1, Count::Failed);
        assert_eq!(window.sum(at(0.0), 2).failed, 1);
        assert_eq!(window.sum(at(0.0), 1).failed, 0);
        // The generation wraps at eight bits.
        window.add(at(0.0), 256, Count::Failed);
        assert_eq!(window.sum(at(0.0), 256).failed, 0);
    }

    #[test]
    fn windows_shorter_than_a_second_keep_their_nanoseconds() {
        let window = Window::new(Duration::from_millis(500));
        window.add(Moment::from_nanos(SECOND), 1, Count::Total);
        assert_eq!(
            window
                .sum(Moment::from_nanos(SECOND + 449_999_999), 1)
                .total,
            1
        );
        assert_eq!(
            window
                .sum(Moment::from_nanos(SECOND + 500_000_000), 1)
                .total,
            0
        );
    }

    #[test]
    fn clock_jumps_leave_a_window_that_counts_again() {
        let window = window();
        window.add(at(7200.0), 1, Count::Failed);
        for jump in [3600.0, 7200.0, 10.0, 100_000.0] {
            window.add(at(jump), 1, Count::Failed);
            assert!(window.sum(at(jump), 1).failed >= 1, "{jump}");
        }
        for now in [0, 1, u64::MAX] {
            window.add(Moment::from_nanos(now), 1, Count::Total);
            assert!(window.sum(Moment::from_nanos(now), 1).total >= 1);
        }
    }

    #[test]
    fn a_new_length_keeps_what_was_counted() {
        let window = window();
        for second in 0..8 {
            window.add(at(f64::from(second)), 3, Count::Total);
            window.add(at(f64::from(second)), 3, Count::Failed);
        }
        window.resize(Duration::from_secs(60), at(8.0), 3);
        assert_eq!(
            window.sum(at(8.0), 3),
            Counts {
                total: 8,
                failed: 8,
                slow: 0
            }
        );
        assert_eq!(window.sum(at(50.0), 3).failed, 8);
    }

    #[test]
    fn threads_that_count_together_lose_nothing() {
        let window = window();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10_000).for_each(|_| window.add(at(0.0), 1, Count::Total)));
            }
        });
        assert_eq!(window.sum(at(0.0), 1).total, 80_000);
    }
}
