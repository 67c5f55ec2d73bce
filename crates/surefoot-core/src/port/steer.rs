//! A person's orders.

use crate::id::{Actor, Queue};
use crate::job::{DeadReason, StateName};
use crate::text::ErrorText;
use crate::time::Timestamp;

/// Who did something by hand, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// Who.
    pub actor: Actor,
    /// Why.
    pub reason: ErrorText,
}

/// What became of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It waited and is cancelled.
    Done,
    /// It runs; its holder is told with the next heartbeat.
    Requested,
    /// Its state allows no cancellation.
    Refused(StateName),
    /// There is no such job.
    NotFound,
}

/// A person's order to run a dead letter again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Whether the provider is to see the same effect or a new one. Must be said where the outcome is unknown.
    pub effect: Option<ReplayEffect>,
    /// Who and why.
    pub by: By,
}

/// Whether a replay is the same effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayEffect {
    /// The same provider key as before.
    Same,
    /// A new provider key: the provider may do it again.
    New,
}

impl DeadReason {
    /// Whether a replay must say if it is the same effect: the dead one may have happened.
    #[must_use]
    pub const fn needs_effect_choice(self) -> bool {
        match self {
            Self::OutcomeUnknown | Self::CrashLoop => true,
            Self::Permanent | Self::Exhausted | Self::Deadline => false,
        }
    }
}

/// What became of a person's order on a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steered {
    /// Done.
    Done,
    /// Only a dead letter can be steered; this job is in another state.
    Refused(StateName),
    /// The outcome is unknown: say whether it is the same effect or a new one.
    NeedsEffectChoice,
    /// There is no such job.
    NotFound,
}

/// A paused queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Which.
    pub queue: Queue,
    /// Since when.
    pub at: Timestamp,
    /// Who and why.
    pub by: By,
}
