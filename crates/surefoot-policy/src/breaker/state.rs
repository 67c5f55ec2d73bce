//! The live state of a breaker. Time, chance and options are arguments. It must never hold a lock, wait, or
//! let a result of an earlier generation change the state.

use std::time::Duration;

use surefoot_core::time::Roll;

use super::permit::{Permit, Probe};
use super::view::{open_left, resting, shown, transition};
use super::word::{Kind, Word};
use super::{BreakerOptions, BreakerState, Evidence, Force, PROBES_MAX, Refusal, Transition};
use crate::atomics::{AtomicU32, AtomicU64, Ordering};
use crate::clock::Moment;
use crate::window::{Count, Counts, Window};

/// A breaker.
#[derive(Debug)]
pub struct Breaker {
    pub(super) word: AtomicU64,
    window: Window,
    /// Until when a ratio stands above its limit with too few calls: then a success may be the call that is
    /// missing, and the sum is worth its cost.
    watch_until: AtomicU64,
    pub(super) ramp_until: AtomicU64,
    /// Until when a breaker that only measures does not say again that it would have opened.
    told_until: AtomicU64,
    pub(super) closed_at: AtomicU64,
    /// Times opened without a stable close between them.
    streak: AtomicU32,
    /// The end of each probe's lease; 0 is a free place.
    pub(super) probes: Box<[AtomicU64]>,
}

impl Breaker {
    /// A closed breaker, or what the options' mode says.
    #[must_use]
    pub fn new(options: &BreakerOptions) -> Self {
        Self {
            word: AtomicU64::new(Word::new(resting(options.mode), 0).0),
            window: Window::new(options.window),
            watch_until: AtomicU64::new(0),
            ramp_until: AtomicU64::new(0),
            told_until: AtomicU64::new(0),
            closed_at: AtomicU64::new(0),
            streak: AtomicU32::new(0),
            probes: (0..PROBES_MAX).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Lets a call pass or turns it away. The first one after the open time changes the state, and is told.
    ///
    /// # Errors
    /// A [`Refusal`]; nothing is held then.
    #[inline(always)]
    pub fn admit(
        &self,
        options: &BreakerOptions,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Result<(Permit<'_>, Option<Transition>), Refusal> {
        let word = self.now();
        if word.kind() == Kind::Closed && self.ramp_until.load(Ordering::Relaxed) <= now.as_nanos()
        {
            return Ok((self.permit(word, None), None));
        }
        self.admit_unless_closed(options, now, roll)
    }

    fn admit_unless_closed(
        &self,
        options: &BreakerOptions,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Result<(Permit<'_>, Option<Transition>), Refusal> {
        loop {
            let word = self.now();
            match word.kind() {
                Kind::Closed => {
                    return if self.ramp_admits(options, now, roll) {
                        Ok((self.permit(word, None), None))
                    } else {
                        Err(Refusal::Ramping)
                    };
                }
                Kind::Disabled | Kind::MetricsOnly => return Ok((self.permit(word, None), None)),
                Kind::ForcedOpen => return Err(Refusal::Forced),
                Kind::Open => {
                    let left = open_left(word, options, now);
                    if !left.is_zero() {
                        return Err(Refusal::Open(left));
                    }
                    let next = word.next(Kind::HalfOpen);
                    let Some(probe) = self.take_place(options, next, now) else {
                        return Err(Refusal::ProbesOut);
                    };
                    if self.exchange(word, next) {
                        let told = transition(word, next, options, now);
                        return Ok((self.permit(next, Some(probe)), Some(told)));
                    }
                    // Another call was quicker; if it did the same, this one is a probe as well.
                    if self.is_still(next) {
                        return Ok((self.permit(next, Some(probe)), None));
                    }
                    self.give_back(probe);
                }
                Kind::HalfOpen => {
                    let Some(probe) = self.take_place(options, word, now) else {
                        return Err(Refusal::ProbesOut);
                    };
                    if self.is_still(word) {
                        return Ok((self.permit(word, Some(probe)), None));
                    }
                    self.give_back(probe);
                }
            }
        }
    }

    /// The state at `now`.
    #[must_use]
    pub fn state(&self, options: &BreakerOptions, now: Moment) -> BreakerState {
        shown(self.now(), options, now)
    }

    /// What the window holds for the present generation.
    #[must_use]
    pub fn counts(&self, now: Moment) -> Counts {
        self.window.sum(now, self.now().generation())
    }

    /// Rises with every change of state.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.now().generation()
    }

    /// Does what an operator asks; `None` when it is so already.
    pub fn force(&self, force: Force, options: &BreakerOptions, now: Moment) -> Option<Transition> {
        let kind = match force {
            Force::Open => Kind::ForcedOpen,
            Force::Close => resting(options.mode),
            Force::Disable => Kind::Disabled,
        };
        self.switch(kind, options, now)
    }

    /// Takes new options over. Window, permits and generation stay, unless the mode changes.
    pub fn reconfigure(
        &self,
        old: &BreakerOptions,
        new: &BreakerOptions,
        now: Moment,
    ) -> Option<Transition> {
        self.window.resize(new.window, now, self.generation());
        if old.mode == new.mode {
            None
        } else {
            self.switch(resting(new.mode), new, now)
        }
    }

    fn switch(&self, kind: Kind, options: &BreakerOptions, now: Moment) -> Option<Transition> {
        loop {
            let word = self.now();
            if word.kind() == kind {
                return None;
            }
            let next = word.next(kind);
            if self.exchange(word, next) {
                return Some(transition(word, next, options, now));
            }
        }
    }

    pub(super) fn count_slow(
        &self,
        admitted: Word,
        options: &BreakerOptions,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Option<Transition> {
        let word = self.now();
        if word.generation() != admitted.generation() || word.kind() == Kind::Disabled {
            return None;
        }
        self.window.add(now, word.generation(), Count::Total);
        self.window.add(now, word.generation(), Count::Slow);
        self.weigh(word, options, now, roll)
    }

    /// A result of a call that was let pass while closed, disabled or measuring.
    #[inline]
    pub(super) fn settle_call(
        &self,
        admitted: Word,
        options: &BreakerOptions,
        evidence: Evidence,
        counted: bool,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Option<Transition> {
        let word = self.now();
        let generation = word.generation();
        let counts = matches!(word.kind(), Kind::Closed | Kind::MetricsOnly);
        if evidence == Evidence::Neutral || !counts || generation != admitted.generation() {
            return None;
        }
        if !counted {
            self.window.add(now, generation, Count::Total);
            if evidence.slow() && options.slow_after.is_some() {
                self.window.add(now, generation, Count::Slow);
            }
        }
        if evidence.failed() {
            self.window.add(now, generation, Count::Failed);
        } else if word.load() > 0 {
            self.set_row(admitted, |_| 0);
        }
        let row = if evidence.failed() {
            self.set_row(admitted, |row| row.saturating_add(1))
        } else {
            0
        };
        let limit = u64::from(options.consecutive_failures);
        if limit > 0 && row >= limit && word.kind() == Kind::Closed {
            return self.trip(word, options, now, roll);
        }
        if evidence.failed()
            || evidence.slow()
            || now.as_nanos() < self.watch_until.load(Ordering::Relaxed)
        {
            return self.weigh(word, options, now, roll);
        }
        None
    }

    /// Opens it if a ratio is at its limit. Called where something was counted that may lift a ratio.
    fn weigh(
        &self,
        word: Word,
        options: &BreakerOptions,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Option<Transition> {
        let counts = self.window.sum(now, word.generation());
        let failing = at_ratio(counts.failed, counts.total, options.failure_ratio);
        let slow =
            options.slow_after.is_some() && at_ratio(counts.slow, counts.total, options.slow_ratio);
        if !failing && !slow {
            return None;
        }
        let next_look = now.after(options.window).as_nanos();
        if counts.total < u64::from(options.calls_min) {
            self.watch_until.store(next_look, Ordering::Relaxed);
            return None;
        }
        match word.kind() {
            Kind::Closed => self.trip(word, options, now, roll),
            Kind::MetricsOnly => {
                // Told once per window, not once per call.
                let told_until = self.told_until.load(Ordering::Relaxed);
                if told_until <= now.as_nanos() {
                    self.told_until.store(next_look, Ordering::Relaxed);
                }
                (told_until <= now.as_nanos()).then(|| transition(word, word, options, now))
            }
            Kind::Open | Kind::HalfOpen | Kind::ForcedOpen | Kind::Disabled => None,
        }
    }

    /// Opens it from the state that `word` describes, whatever its load has become.
    pub(super) fn trip(
        &self,
        word: Word,
        options: &BreakerOptions,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> Option<Transition> {
        let closed_for = now.since(Moment::from_nanos(self.closed_at.load(Ordering::Relaxed)));
        let stable = word.kind() == Kind::Closed && closed_for >= options.stable_after;
        let streak = if stable {
            0
        } else {
            self.streak.load(Ordering::Relaxed)
        };
        let open_for = options
            .open_times()
            .delay(streak.saturating_add(1), None, roll());
        let next = word.next(Kind::Open).until(now.after(open_for));
        loop {
            let seen = self.now();
            if !self.is_still(word) {
                return None;
            }
            if self.exchange(seen, next) {
                self.streak
                    .store(streak.saturating_add(1), Ordering::Relaxed);
                self.watch_until.store(0, Ordering::Relaxed);
                return Some(transition(word, next, options, now));
            }
        }
    }

    /// Changes the failures in a row, if the state is still the one that let the call pass.
    fn set_row(&self, admitted: Word, change: impl Fn(u64) -> u64) -> u64 {
        loop {
            let word = self.now();
            if word.generation() != admitted.generation() || word.kind() != Kind::Closed {
                return 0;
            }
            let row = change(word.load());
            if self.exchange(word, word.with_load(row)) {
                return row;
            }
        }
    }

    /// After a close, the share of calls that pass rises from a tenth to all.
    #[inline]
    fn ramp_admits(
        &self,
        options: &BreakerOptions,
        now: Moment,
        roll: impl FnOnce() -> Roll,
    ) -> bool {
        let end = self.ramp_until.load(Ordering::Relaxed);
        if end <= now.as_nanos() || options.ramp.is_zero() {
            return true;
        }
        let left = Duration::from_nanos(end - now.as_nanos());
        // More is left than there ever was: the clock went back.
        if left > options.ramp {
            return true;
        }
        let share = 1.0 - left.as_secs_f64() / options.ramp.as_secs_f64();
        roll().fraction() < share.max(RAMP_SHARE_MIN)
    }

    #[inline]
    pub(super) fn now(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    /// Whether the state is the one that `word` describes, whatever its load has become.
    pub(super) fn is_still(&self, word: Word) -> bool {
        let seen = self.now();
        seen.kind() == word.kind() && seen.generation() == word.generation()
    }

    pub(super) fn exchange(&self, from: Word, to: Word) -> bool {
        self.word
            .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    #[inline]
    fn permit(&self, admitted: Word, probe: Option<Probe>) -> Permit<'_> {
        Permit {
            breaker: self,
            admitted,
            probe,
            counted_slow: false,
        }
    }
}

/// The share of calls that pass at the very start of the ramp.
const RAMP_SHARE_MIN: f64 = 0.1;

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn at_ratio(part: u64, total: u64, ratio: f64) -> bool {
    part > 0 && part as f64 >= ratio * total as f64
}
