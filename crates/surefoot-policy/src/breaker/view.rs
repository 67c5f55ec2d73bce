//! What a word of state means at a moment.

use std::time::Duration;

use super::word::{Kind, Word};
use super::{BreakerMode, BreakerOptions, BreakerState, Transition};
use crate::clock::{HELD_UP_MAX, Moment};

/// The state in which a breaker of this mode rests.
pub(super) const fn resting(mode: BreakerMode) -> Kind {
    match mode {
        BreakerMode::On => Kind::Closed,
        BreakerMode::MetricsOnly => Kind::MetricsOnly,
        BreakerMode::Disabled => Kind::Disabled,
    }
}

/// What is left of the open time. More than the longest open time means that the clock went back: then the
/// time counts as over, because waiting longer helps nobody.
pub(super) fn open_left(word: Word, options: &BreakerOptions, now: Moment) -> Duration {
    let left = word.end().since(now);
    let longest = options.open_for_max;
    if left > longest.saturating_add(HELD_UP_MAX) {
        Duration::ZERO
    } else {
        left.min(longest)
    }
}

pub(super) fn shown(word: Word, options: &BreakerOptions, now: Moment) -> BreakerState {
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

pub(super) fn transition(
    from: Word,
    to: Word,
    options: &BreakerOptions,
    now: Moment,
) -> Transition {
    Transition {
        from: shown(from, options, now),
        to: shown(to, options, now),
        generation: to.generation(),
    }
}
