//! The right to make one call through a breaker. Dropped without a result it is neutral: it gives its place
//! back and says nothing about the dependency.

use surefoot_core::time::Roll;

use super::BreakerOptions;
use super::word::Word;
use super::{Breaker, Evidence, Transition};
use crate::clock::Moment;

/// One call that was let pass.
#[derive(Debug)]
#[must_use = "a permit that is dropped counts as neither success nor failure"]
pub struct Permit<'a> {
    pub(super) breaker: &'a Breaker,
    /// The state that let it pass; a result of an earlier generation changes nothing.
    pub(super) admitted: Word,
    pub(super) probe: Option<Probe>,
    pub(super) counted_slow: bool,
}

/// The place of a probe, and the end of its lease as the mark that the place is still its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) slot: usize,
    pub(super) lease: u64,
}

impl Permit<'_> {
    /// Whether it is one of the few calls of a half-open breaker.
    #[must_use]
    pub const fn is_probe(&self) -> bool {
        self.probe.is_some()
    }

    /// Tells that the call is still out past the slow line: it counts as slow from this moment on.
    pub fn still_out(
        &mut self,
        options: &BreakerOptions,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Option<Transition> {
        if self.counted_slow {
            return None;
        }
        self.counted_slow = true;
        self.breaker.count_slow(self.admitted, options, now, roll)
    }

    /// Tells what came of the call.
    #[inline]
    pub fn settle(
        mut self,
        options: &BreakerOptions,
        evidence: Evidence,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Option<Transition> {
        if let Some(probe) = self.probe.take() {
            if !self.breaker.give_back(probe) {
                return None;
            }
            return self
                .breaker
                .settle_probe(self.admitted, options, evidence, now, roll);
        }
        self.breaker.settle_call(
            self.admitted,
            options,
            evidence,
            self.counted_slow,
            now,
            roll,
        )
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(probe) = self.probe.take() {
            self.breaker.give_back(probe);
        }
    }
}
