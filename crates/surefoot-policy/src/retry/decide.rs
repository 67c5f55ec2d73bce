//! Decides whether another attempt follows. Pure: time and chance are arguments. What the dependency may have
//! done already weighs first: a call that must not happen twice is never sent again on a guess.

use std::time::Duration;

use surefoot_core::classify::Class;
use surefoot_core::retry_after;
use surefoot_core::time::Roll;

use super::RetryOptions;
use crate::meaning::Meaning;
use crate::meta::Meta;

/// What is known when an attempt has failed.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// What the caller said about the call.
    pub meta: &'a Meta<'a>,
    /// What the failure means.
    pub meaning: Meaning,
    /// How many attempts were made.
    pub attempts: u32,
    /// Whether one of them was a free replay already.
    pub replayed: bool,
    /// Whether a layer above repeats the whole.
    pub has_outer: bool,
    /// The wait before the attempt that failed.
    pub previous: Option<Duration>,
    /// What is left of the deadline.
    pub left: Duration,
    /// The shortest time in which an attempt can end.
    pub attempt_min: Duration,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another attempt after this wait, if the budget pays for it.
    After(Duration),
    /// The same call at once and for free: it never left, because an idle connection was closed.
    Replay,
    /// None, for this reason.
    Stop(Suppressed),
}

/// Why no further attempt followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suppressed {
    /// The same call would fail the same way.
    Permanent,
    /// It was stopped on request.
    Cancelled,
    /// It may have been applied, and a second send could apply it again.
    NotRepeatable,
    /// Its request can be sent only once.
    BodyConsumed,
    /// All attempts were made.
    Attempts,
    /// A layer above repeats it.
    Owner,
    /// Retries and hedges have used their share.
    Budget,
    /// No attempt could end in time.
    Deadline,
    /// The dependency wants to be called again only after the deadline.
    RetryAfterExceedsDeadline,
    /// The breaker, the gate or another guard turned the retry away.
    Guard,
}

impl Suppressed {
    /// The word, as in metrics and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::Cancelled => "cancelled",
            Self::NotRepeatable => "not_repeatable",
            Self::BodyConsumed => "body_consumed",
            Self::Attempts => "attempts",
            Self::Owner => "owner",
            Self::Budget => "budget",
            Self::Deadline => "deadline",
            Self::RetryAfterExceedsDeadline => "retry_after_exceeds_deadline",
            Self::Guard => "guard",
        }
    }
}

/// Decides what follows a failed attempt, apart from what the budget says.
#[must_use]
pub fn next(options: &RetryOptions, situation: &Situation<'_>, roll: Roll) -> Next {
    let Situation { meta, meaning, .. } = situation;
    match meaning.class {
        Class::Permanent => return Next::Stop(Suppressed::Permanent),
        Class::Cancelled => return Next::Stop(Suppressed::Cancelled),
        Class::Transient | Class::Unknown => {}
    }
    if !meaning.certainty.is_harmless() && !meta.is_repeatable() {
        return Next::Stop(Suppressed::NotRepeatable);
    }
    if meta.once {
        return Next::Stop(Suppressed::BodyConsumed);
    }
    if meaning.free_replay && !situation.replayed && situation.left > situation.attempt_min {
        return Next::Replay;
    }
    if situation.attempts >= options.attempts_max {
        return Next::Stop(Suppressed::Attempts);
    }
    if situation.has_outer {
        return Next::Stop(Suppressed::Owner);
    }
    let own = options
        .backoff
        .backoff()
        .delay(situation.attempts, situation.previous, roll);
    let asked = meaning
        .retry_after
        .map_or(Duration::ZERO, |after| retry_after::spread(after, roll));
    // What the dependency asks for is the least; our own wait is never shortened by it.
    let wait = own.max(asked);
    if wait.saturating_add(situation.attempt_min) < situation.left {
        Next::After(wait)
    } else if asked > own {
        Next::Stop(Suppressed::RetryAfterExceedsDeadline)
    } else {
        Next::Stop(Suppressed::Deadline)
    }
}
