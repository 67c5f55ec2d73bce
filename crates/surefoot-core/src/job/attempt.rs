//! The record that each start of a handler leaves.

use crate::id::{Epoch, Worker};
use crate::text::ErrorText;
use crate::time::Timestamp;

/// One run of a job, as it is kept for ever. An attempt without an outcome is the one that runs at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// 1 for the first claim of the job, one more for each.
    pub number: u32,
    /// The epoch of its lease.
    pub epoch: Epoch,
    /// Who ran it.
    pub worker: Worker,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// When it ended, or was found lost.
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<AttemptOutcome>,
    /// What it said.
    pub error: Option<ErrorText>,
    /// What its holder said after the lease was lost. It is kept here and changes nothing else.
    pub late: Option<ErrorText>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptOutcome {
    /// It returned a result.
    Succeeded,
    /// It failed in a way that may pass.
    Transient,
    /// It failed in a way that will not pass.
    Permanent,
    /// A time-out fired; the error says which.
    TimedOut,
    /// Nobody knows whether its effect happened.
    Unknown,
    /// It stopped because it was asked to.
    Cancelled,
    /// It was given back unused.
    Released,
    /// Its holder was lost: a crash, a stall or a cut connection.
    Lost,
}

impl AttemptOutcome {
    /// Every outcome.
    pub const ALL: [Self; 8] = [
        Self::Succeeded,
        Self::Transient,
        Self::Permanent,
        Self::TimedOut,
        Self::Unknown,
        Self::Cancelled,
        Self::Released,
        Self::Lost,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::TimedOut => "timed_out",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Released => "released",
            Self::Lost => "lost",
        }
    }

    /// The outcome with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
    }
}
