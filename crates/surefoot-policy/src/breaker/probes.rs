//! The few calls that a half-open breaker lets pass. Each takes one of as many places as probes are allowed, so
//! no race can let more of them out; a place whose lease has ended is free, so none can be lost.

use surefoot_core::time::Roll;

use super::permit::Probe;
use super::view::transition;
use super::word::{Kind, Word};
use super::{Breaker, BreakerOptions, Evidence, Transition};
use crate::atomics::Ordering;
use crate::clock::{HELD_UP_MAX, Moment, nanos};

impl Breaker {
    /// How many probes hold a place at `now`.
    #[must_use]
    pub fn probes_out(&self, now: Moment) -> usize {
        self.probes
            .iter()
            .filter(|place| place.load(Ordering::Acquire) > now.as_nanos())
            .count()
    }

    /// Gives a probe's place back; false when its lease ended and another has taken the place.
    pub(super) fn give_back(&self, probe: Probe) -> bool {
        self.probes[probe.slot]
            .compare_exchange(probe.lease, 0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// A result of a probe whose place was still its own.
    pub(super) fn settle_probe(
        &self,
        admitted: Word,
        options: &BreakerOptions,
        evidence: Evidence,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Option<Transition> {
        loop {
            let word = self.now();
            if word.generation() != admitted.generation() || word.kind() != Kind::HalfOpen {
                return None;
            }
            if evidence == Evidence::Neutral {
                return None;
            }
            // Closing on a slow answer would only open it again for slowness.
            if evidence.failed() || (evidence.slow() && options.slow_after.is_some()) {
                return self.trip(word, options, now, roll);
            }
            let successes = word.load() + 1;
            if successes < u64::from(options.successes_to_close) {
                if self.exchange(word, word.with_load(successes)) {
                    return None;
                }
                continue;
            }
            self.ramp_until
                .store(now.after(options.ramp).as_nanos(), Ordering::Relaxed);
            self.closed_at.store(now.as_nanos(), Ordering::Relaxed);
            let next = word.next(Kind::Closed);
            if self.exchange(word, next) {
                return Some(transition(word, next, options, now));
            }
        }
    }

    /// Takes a place that is free, or whose probe outlived its lease.
    pub(super) fn take_place(
        &self,
        options: &BreakerOptions,
        word: Word,
        now: Moment,
    ) -> Option<Probe> {
        let places = usize::try_from(options.probes)
            .unwrap_or(1)
            .clamp(1, self.probes.len());
        let longest = now.after(options.probe_lease).as_nanos().max(1);
        // The generation in the lowest bits keeps two leases of one moment apart.
        let lease = (longest & !0xFF) | u64::from(word.generation() & 0xFF).max(1);
        for (slot, place) in self.probes.iter().enumerate().take(places) {
            let held = place.load(Ordering::Acquire);
            let gone_back = held > longest.saturating_add(nanos(HELD_UP_MAX));
            let free = held <= now.as_nanos() || gone_back;
            if free
                && place
                    .compare_exchange(held, lease, Ordering::AcqRel, Ordering::Acquire)
                    .is_ok()
            {
                return Some(Probe { slot, lease });
            }
        }
        None
    }
}
