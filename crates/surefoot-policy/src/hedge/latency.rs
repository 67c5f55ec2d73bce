//! How long calls take, in a histogram of two ages. Calls that were given up count with the time they had: a
//! dependency that hangs does not look fast. Adding is one atomic addition.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Moment, nanos};

/// Four buckets per doubling, from a microsecond on: a quarter of a doubling is the precision.
const STEPS: usize = 4;
const BUCKETS: usize = 36 * STEPS;
const FLOOR_BITS: u32 = 10;
/// How long a histogram collects before it becomes the old one.
const AGE: Duration = Duration::from_secs(30);
/// How many calls it takes before a percentile means anything.
const SAMPLES_MIN: u64 = 20;

/// The recent latencies.
#[derive(Debug)]
pub struct Latency {
    ages: [Box<[AtomicU32]>; 2],
    /// Which of the two collects: the number of the age.
    age: AtomicU64,
}

impl Default for Latency {
    fn default() -> Self {
        let empty = || (0..BUCKETS).map(|_| AtomicU32::new(0)).collect();
        Self {
            ages: [empty(), empty()],
            age: AtomicU64::new(0),
        }
    }
}

impl Latency {
    /// Counts one call that ended, or was given up, after `took`.
    pub fn add(&self, took: Duration, now: Moment) {
        let age = self.turn(now);
        self.ages[side(age)][bucket(took)].fetch_add(1, Ordering::Relaxed);
    }

    /// The latency that `percentile` of 100 calls stay below; `None` with too few calls.
    #[must_use]
    pub fn percentile(&self, percentile: f64) -> Option<Duration> {
        let count = |bucket: usize| {
            let both = self
                .ages
                .iter()
                .map(|age| u64::from(age[bucket].load(Ordering::Relaxed)));
            both.sum::<u64>()
        };
        let total: u64 = (0..BUCKETS).map(count).sum();
        if total < SAMPLES_MIN {
            return None;
        }
        let mut left = rank(total, percentile);
        let found = (0..BUCKETS).find(|bucket| {
            let here = count(*bucket);
            let reached = here >= left;
            left = left.saturating_sub(here);
            reached
        })?;
        Some(upper(found))
    }

    /// The age at `now`; whoever begins a new one empties its histogram.
    fn turn(&self, now: Moment) -> u64 {
        let age = now.as_nanos() / nanos(AGE);
        let seen = self.age.load(Ordering::Relaxed);
        if seen == age
            || self
                .age
                .compare_exchange(seen, age, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return age;
        }
        let long_ago = age.abs_diff(seen) > 1;
        for (index, buckets) in self.ages.iter().enumerate() {
            if long_ago || index == side(age) {
                buckets
                    .iter()
                    .for_each(|bucket| bucket.store(0, Ordering::Relaxed));
            }
        }
        age
    }
}

const fn side(age: u64) -> usize {
    (age & 1) as usize
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is a count"
)]
fn rank(total: u64, percentile: f64) -> u64 {
    ((total as f64 * percentile / 100.0).ceil() as u64).clamp(1, total)
}

fn bucket(took: Duration) -> usize {
    let scaled = (nanos(took) >> (FLOOR_BITS - 2)).max(STEPS as u64);
    let doublings = scaled.ilog2() - 2;
    let step = usize::try_from((scaled >> doublings) & (STEPS as u64 - 1)).unwrap_or(0);
    (doublings as usize * STEPS + step).min(BUCKETS - 1)
}

/// The upper end of a bucket.
fn upper(bucket: usize) -> Duration {
    let (doublings, step) = (bucket / STEPS, (bucket % STEPS + 1) as u64);
    Duration::from_nanos(((STEPS as u64 + step) << doublings) << (FLOOR_BITS - 2))
}
