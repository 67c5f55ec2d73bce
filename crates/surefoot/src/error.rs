//! What can go wrong for a caller of the client. What a store merely refuses is part of a verb's answer, not an error.

use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, NameError, Worker};
use surefoot_core::job::{Death, PRIORITY_RANGE};
use surefoot_core::payload::PayloadError;
use surefoot_core::text::ErrorText;

use crate::holder::NODE_PREFIX;

/// A call of the client could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name or key does not fit its bounds.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The payload is not JSON, too large, or not of the type that was asked for.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The priority is out of range.
    #[error("priority {0} is out of range, give {min} to {max}", min = PRIORITY_RANGE.start(), max = PRIORITY_RANGE.end())]
    Priority(i16),
    /// The job could never run: it becomes due when its deadline is over. Nothing was written.
    #[error(
        "the deadline, by deadline_at or by the kind's policy, is not after run_at, so the job could never run"
    )]
    DueTooLate,
    /// The job could never run: its deadline lies in the past. Nothing was written.
    #[error("deadline_at has passed, so the job could never run")]
    DeadlinePassed,
    /// A pull worker may not be called what only nodes are called.
    #[error(
        "worker {0} begins with {NODE_PREFIX}, which is kept for nodes of the engine; choose another name"
    )]
    ReservedWorker(Worker),
    /// More items than one call takes.
    #[error("{items} items are too many for one call, give at most {max}")]
    TooMany {
        /// How many there were.
        items: usize,
        /// The limit.
        max: usize,
    },
    /// The key belongs to another job with another payload; nothing was written.
    #[error("the key belongs to job {0}, which has another payload")]
    Conflict(JobId),
    /// The job has no result and will not get one by itself.
    #[error("job {job} has no result: {why}")]
    Unfinished {
        /// Which job.
        job: JobId,
        /// Why.
        #[source]
        why: Unfinished,
    },
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Name(_)
            | Self::Payload(_)
            | Self::Priority(_)
            | Self::DueTooLate
            | Self::DeadlinePassed
            | Self::ReservedWorker(_)
            | Self::TooMany { .. }
            | Self::Conflict(_)
            | Self::Unfinished { .. } => false,
        }
    }
}

/// Why a job has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    /// It is a dead letter and waits for a person.
    #[error("it is a dead letter ({}): {}", .0.reason.as_str(), .0.error)]
    Dead(Death),
    /// It was withdrawn.
    #[error("it was cancelled: {0}")]
    Cancelled(ErrorText),
    /// A person set it aside.
    #[error("it was ignored: {0}")]
    Ignored(ErrorText),
    /// There is no such job.
    #[error("there is no such job")]
    NotFound,
}
