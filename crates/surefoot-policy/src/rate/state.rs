//! The live state of a rate limiter: the theoretical arrival time of the next call, in one atomic word (GCRA,
//! ITU-T I.371). It admits at most `rate * time + burst`, whatever the threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::RateOptions;
use crate::clock::{HELD_UP_MAX, Moment, nanos};

/// A rate limiter.
#[derive(Debug, Default)]
pub struct Rate(AtomicU64);

/// When a call may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// After this wait; zero is at once. The turn is taken, also when it is not used.
    In(Duration),
    /// Not within what it would wait; the turn is not taken. Asking again makes sense after this time.
    NotWithin(Duration),
}

impl Rate {
    /// Takes a turn that comes within `wait` and the options' own limit.
    pub fn take(&self, options: &RateOptions, now: Moment, wait: Duration) -> Turn {
        let now = now.as_nanos();
        let interval = options.interval();
        let burst = interval.saturating_mul(u64::from(options.burst.saturating_sub(1)));
        let wait = nanos(wait.min(options.wait_max));
        let furthest = [burst, nanos(options.wait_max), interval, nanos(HELD_UP_MAX)]
            .into_iter()
            .fold(now, u64::saturating_add);
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            // Further ahead than any turn can be: the clock went back, or the options were changed.
            let arrival = if seen > furthest { now } else { seen.max(now) };
            let due = (arrival - now).saturating_sub(burst);
            if due > wait {
                return Turn::NotWithin(Duration::from_nanos(due));
            }
            let next = arrival.saturating_add(interval);
            match self
                .0
                .compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Turn::In(Duration::from_nanos(due)),
                Err(other) => seen = other,
            }
        }
    }
}
