//! P2 once more: the sources of the breaker over loom's atomics, in every order in which its threads can meet. Real
//! threads on a few processors meet too rarely to show that two of them must not take one place.
#![cfg(test)]

#[path = "../../src/clock.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the breaker needs its moments only"
)]
mod clock;
#[path = "../../src/duration_text.rs"]
mod duration_text;

/// Loom's, under the names that the sources use.
mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

/// A window that counts nothing: what is explored here is the word of state and the places of the probes.
mod window {
    use std::time::Duration;

    use crate::clock::Moment;

    pub(crate) const WINDOW_MIN: Duration = Duration::from_millis(10);
    pub(crate) const WINDOW_MAX: Duration = Duration::from_secs(3600);

    pub(crate) enum Count {
        Total,
        Failed,
        Slow,
    }

    #[derive(Default)]
    pub(crate) struct Counts {
        pub(crate) total: u64,
        pub(crate) failed: u64,
        pub(crate) slow: u64,
    }

    #[derive(Debug)]
    pub(crate) struct Window;

    impl Window {
        pub(crate) fn new(_: Duration) -> Self {
            Self
        }

        pub(crate) fn add(&self, _: Moment, _: u32, _: Count) {}

        pub(crate) fn sum(&self, _: Moment, _: u32) -> Counts {
            Counts::default()
        }

        pub(crate) fn resize(&self, _: Duration, _: Moment, _: u32) {}
    }
}

mod breaker;
mod probes;
