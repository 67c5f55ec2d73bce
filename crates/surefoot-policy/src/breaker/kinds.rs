//! What a breaker is told, what it answers, and what can be seen of it. Plain data.

use std::time::Duration;

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
    pub(super) const fn failed(self) -> bool {
        matches!(self, Self::Failed | Self::FailedAndSlow)
    }

    pub(super) const fn slow(self) -> bool {
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
