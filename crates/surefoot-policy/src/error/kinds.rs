//! How calls and attempts end. Plain data.

use std::time::Duration;

use surefoot_core::classify::Certainty;
use surefoot_core::timeouts::TimeoutKind;

use crate::fault::Injected;

/// Why a call was turned away before anything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// The breaker is open.
    BreakerOpen,
    /// The breaker is half open and all its probes are out.
    ProbesOut,
    /// Somebody holds the breaker open.
    ForcedOpen,
    /// The breaker has just closed and lets only a share of the calls pass.
    Ramping,
    /// The dependency asked to be left alone for a while.
    GateClosed,
    /// The rate limit is reached.
    RateLimited,
    /// All seats and the queue are taken.
    BulkheadFull,
    /// No seat was free in time.
    BulkheadWaited,
    /// It was not important enough for the present load.
    Shed,
    /// No time was left to make it.
    DeadlinePassed,
}

impl Rejection {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::BreakerOpen,
        Self::ProbesOut,
        Self::ForcedOpen,
        Self::Ramping,
        Self::GateClosed,
        Self::RateLimited,
        Self::BulkheadFull,
        Self::BulkheadWaited,
        Self::Shed,
        Self::DeadlinePassed,
    ];

    /// The word, as in metrics and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BreakerOpen => "breaker_open",
            Self::ProbesOut => "breaker_probes_out",
            Self::ForcedOpen => "breaker_forced_open",
            Self::Ramping => "breaker_ramping",
            Self::GateClosed => "gate_closed",
            Self::RateLimited => "rate_limited",
            Self::BulkheadFull => "bulkhead_full",
            Self::BulkheadWaited => "bulkhead_waited",
            Self::Shed => "shed",
            Self::DeadlinePassed => "deadline_passed",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It was turned away: nothing was sent.
    Rejected(Rejection),
    /// Its last attempt failed.
    Failed,
    /// Its last attempt was ended by this limit.
    TimedOut(TimeoutKind),
    /// Its last attempt met a fault that was injected.
    Injected(Injected),
}

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Which one, from 1.
    pub number: u32,
    /// Whether it was the second copy of a slow one.
    pub hedge: bool,
    /// How long after the begin of the call it began.
    pub began_after: Duration,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub kind: Kind,
    /// What may have happened at the other end.
    pub certainty: Certainty,
}

/// What the attempts of a call were.
#[derive(Debug)]
pub struct Story<E> {
    /// Those that failed, in the order in which they ended; at most two per attempt of the policy.
    pub attempts: Vec<AttemptRecord>,
    /// The last error that the call itself gave.
    pub source: Option<E>,
}

/// The certainty of two attempts together: what may have been applied stays so.
pub(crate) const fn together(one: Certainty, other: Certainty) -> Certainty {
    const fn rank(certainty: Certainty) -> u8 {
        match certainty {
            Certainty::NotSent => 0,
            Certainty::Rejected => 1,
            Certainty::MaybeApplied => 2,
            Certainty::Applied => 3,
        }
    }
    if rank(one) >= rank(other) { one } else { other }
}
