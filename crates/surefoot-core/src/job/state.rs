//! What a job may be, with the data of each state.

use crate::id::{Epoch, Worker};
use crate::payload::Payload;
use crate::policy::Recovery;
use crate::text::{ErrorFingerprint, ErrorText};
use crate::time::Timestamp;

/// What a job may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Waits for its first attempt, or for its next one after it was given back or replayed.
    Pending {
        /// The earliest time it runs.
        due_at: Timestamp,
    },
    /// Somebody holds the lease.
    Running(Run),
    /// Waits after a failure, a lost lease or an unknown outcome that its recovery allows to send again.
    Retrying {
        /// The earliest time it runs.
        due_at: Timestamp,
        /// What the last attempt said.
        error: ErrorText,
    },
    /// An effect of it may have happened: the provider is asked before anything is sent again.
    Verifying {
        /// The earliest time it is asked.
        due_at: Timestamp,
        /// Why nobody knows.
        error: ErrorText,
    },
    /// Done.
    Succeeded {
        /// When.
        at: Timestamp,
        /// What the handler returned.
        result: Payload,
    },
    /// Will not run again by itself; waits for a person.
    Dead(Death),
    /// Withdrawn before it succeeded.
    Cancelled {
        /// When.
        at: Timestamp,
        /// Why.
        reason: ErrorText,
    },
    /// A dead letter that a person decided not to replay.
    Ignored {
        /// When.
        at: Timestamp,
        /// Why.
        reason: ErrorText,
    },
}

impl JobState {
    /// The state without its data.
    #[must_use]
    pub const fn name(&self) -> StateName {
        match self {
            Self::Pending { .. } => StateName::Pending,
            Self::Running(_) => StateName::Running,
            Self::Retrying { .. } => StateName::Retrying,
            Self::Verifying { .. } => StateName::Verifying,
            Self::Succeeded { .. } => StateName::Succeeded,
            Self::Dead(_) => StateName::Dead,
            Self::Cancelled { .. } => StateName::Cancelled,
            Self::Ignored { .. } => StateName::Ignored,
        }
    }
}

/// A state's name, the same word in code, SQL, API and console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateName {
    /// `pending`
    Pending,
    /// `running`
    Running,
    /// `retrying`
    Retrying,
    /// `verifying`
    Verifying,
    /// `succeeded`
    Succeeded,
    /// `dead`
    Dead,
    /// `cancelled`
    Cancelled,
    /// `ignored`
    Ignored,
}

impl StateName {
    /// Every state, in the order of a job's life.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Running,
        Self::Retrying,
        Self::Verifying,
        Self::Succeeded,
        Self::Dead,
        Self::Cancelled,
        Self::Ignored,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Verifying => "verifying",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
            Self::Ignored => "ignored",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }

    /// Whether nothing will change it any more. A dead letter is not final: a person may replay it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Cancelled | Self::Ignored)
    }

    /// Whether the engine is done with it: final, or waiting for a person.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        self.is_final() || matches!(self, Self::Dead)
    }
}

/// The right to run a job for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Fences every write of this attempt.
    pub epoch: Epoch,
    /// Who runs it.
    pub worker: Worker,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// When the lease ends unless it is extended.
    pub lease_until: Timestamp,
    /// What the claimer declared for the unknown case; the node that finds the lease lost goes by it.
    pub recovery: Option<Recovery>,
    /// Somebody asked to cancel the job.
    pub cancel_requested: bool,
}

/// Why a job will not run again by itself, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: DeadReason,
    /// What the last attempt said.
    pub error: ErrorText,
    /// The same for the same kind of fault.
    pub fingerprint: ErrorFingerprint,
}

/// Why a job became a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeadReason {
    /// A failure that trying again would not mend.
    Permanent,
    /// All attempts are used up.
    Exhausted,
    /// The total deadline passed.
    Deadline,
    /// Its holder was lost too often: it may be what kills the workers.
    CrashLoop,
    /// The effect may or may not have happened and the recovery allows no second call: a person decides.
    OutcomeUnknown,
}

impl DeadReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [
        Self::Permanent,
        Self::Exhausted,
        Self::Deadline,
        Self::CrashLoop,
        Self::OutcomeUnknown,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::Exhausted => "exhausted",
            Self::Deadline => "deadline",
            Self::CrashLoop => "crash_loop",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// The reason with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}
