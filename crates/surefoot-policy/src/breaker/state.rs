//! The live state of a breaker. Time, chance and options are arguments. It must never hold a lock, wait, or
//! let a result of an earlier generation change the state.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use surefoot_core::time::Roll;

use super::permit::{Permit, Probe};
use super::word::{Kind, Word};
use super::{BreakerMode, BreakerOptions, PROBES_MAX};
use crate::clock::{HELD_UP_MAX, Moment, nanos};
use crate::window::{Count, Counts, Window};

/// What a call showed about the health of the dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It answered in time.
    Alive,
    /// It answered, past the slow line.
    AliveButSlow,
    /// It failed, or our own time-out ended the call.
    Failed,
    /// It failed past the slow line.
    FailedAndSlow,
    /// Nothing: the caller went away, we turned the call away ourselves, the deadline had passed, or the
    /// dependency was healthy enough to say that we call too often.
    Neutral,
}

impl Evidence {
    const fn failed(self) -> bool {
        matches!(self, Self::Failed | Self::FailedAndSlow)
    }

    const fn slow(self) -> bool {
        matches!(self, Self::AliveButSlow | Self::FailedAndSlow)
    }
}

/// What a breaker does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// It lets calls pass.
    Closed,
    /// It turns calls away; the first call after `left` is a probe.
    Open {
        /// What is left of the open time; zero when the next call is a probe.
        left: Duration,
    },
    /// It lets a few probes pass.
    HalfOpen,
    /// Somebody holds it open.
    ForcedOpen,
    /// It lets every call pass and counts nothing.
    Disabled,
    /// It counts and lets every call pass.
    MetricsOnly,
}

impl BreakerState {
    /// The word, as in metrics and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen => "half_open",
            Self::ForcedOpen => "forced_open",
            Self::Disabled => "disabled",
            Self::MetricsOnly => "metrics_only",
        }
    }
}

/// A change that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state before.
    pub from: BreakerState,
    /// The state after. The same as before when a breaker that only measures would have opened.
    pub to: BreakerState,
    /// Rises with every change and wraps at 2^20.
    pub generation: u32,
}

/// Why a call was turned away, and when it makes sense to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Open for so much longer.
    Open(Duration),
    /// Half open, and all probes are out.
    ProbesOut,
    /// Just closed: only a share of calls passes yet.
    Ramping,
    /// Somebody holds it open.
    Forced,
}

/// What an operator asks of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Stay open until told otherwise.
    Open,
    /// Close, with an empty window, and go on by the options' mode.
    Close,
    /// Let every call pass and count nothing until told otherwise.
    Disable,
}

/// A breaker.
#[derive(Debug)]
pub struct Breaker {
    word: AtomicU64,
    window: Window,
    /// Until when a ratio stands above its limit with too few calls: then a success may be the call that is
    /// missing, and the sum is worth its cost.
    watch_until: AtomicU64,
    ramp_until: AtomicU64,
    /// Until when a breaker that only measures does not say again that it would have opened.
    told_until: AtomicU64,
    closed_at: AtomicU64,
    /// Times opened without a stable close between them.
    streak: AtomicU32,
    /// The end of each probe's lease; 0 is a free place.
    probes: Box<[AtomicU64]>,
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
    pub fn admit(
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

    /// How many probes hold a place at `now`.
    #[must_use]
    pub fn probes_out(&self, now: Moment) -> usize {
        self.probes
            .iter()
            .filter(|place| place.load(Ordering::Acquire) > now.as_nanos())
            .count()
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

    /// Gives a probe's place back; false when its lease ended and another has taken the place.
    pub(super) fn give_back(&self, probe: Probe) -> bool {
        self.probes[probe.slot]
            .compare_exchange(probe.lease, 0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
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
    fn trip(
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

    /// Takes a place that is free, or whose probe outlived its lease.
    fn take_place(&self, options: &BreakerOptions, word: Word, now: Moment) -> Option<Probe> {
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

    /// After a close, the share of calls that pass rises from a tenth to all.
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

    fn now(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    /// Whether the state is the one that `word` describes, whatever its load has become.
    fn is_still(&self, word: Word) -> bool {
        let seen = self.now();
        seen.kind() == word.kind() && seen.generation() == word.generation()
    }

    fn exchange(&self, from: Word, to: Word) -> bool {
        self.word
            .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

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

const fn resting(mode: BreakerMode) -> Kind {
    match mode {
        BreakerMode::On => Kind::Closed,
        BreakerMode::MetricsOnly => Kind::MetricsOnly,
        BreakerMode::Disabled => Kind::Disabled,
    }
}

/// What is left of the open time. More than the longest open time means that the clock went back: then the
/// time counts as over, because waiting longer helps nobody.
fn open_left(word: Word, options: &BreakerOptions, now: Moment) -> Duration {
    let left = word.end().since(now);
    let longest = options.open_for_max;
    if left > longest.saturating_add(HELD_UP_MAX) {
        Duration::ZERO
    } else {
        left.min(longest)
    }
}

fn shown(word: Word, options: &BreakerOptions, now: Moment) -> BreakerState {
    match word.kind() {
        Kind::Closed => BreakerState::Closed,
        Kind::Open => BreakerState::Open {
            left: open_left(word, options, now),
        },
        Kind::HalfOpen => BreakerState::HalfOpen,
        Kind::ForcedOpen => BreakerState::ForcedOpen,
        Kind::Disabled => BreakerState::Disabled,
        Kind::MetricsOnly => BreakerState::MetricsOnly,
    }
}

fn transition(from: Word, to: Word, options: &BreakerOptions, now: Moment) -> Transition {
    Transition {
        from: shown(from, options, now),
        to: shown(to, options, now),
        generation: to.generation(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn at_ratio(part: u64, total: u64, ratio: f64) -> bool {
    part > 0 && part as f64 >= ratio * total as f64
}
