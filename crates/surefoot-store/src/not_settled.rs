//! Why the outcome of an attempt cannot stand in the caller's own transaction, the same in every SQL store.

use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};

/// The outcome of an attempt was not written in the caller's own transaction. Each of these means: roll it back. What was
/// written beside the outcome must not be committed without it, and an error makes that the way of least effort.
#[derive(Debug, thiserror::Error)]
pub enum NotSettled {
    /// The lease is lost: somebody else runs the job, or has ended it. Nothing was written.
    #[error("job {job} does not run under epoch {epoch} any more; roll back")]
    Stale {
        /// Which job.
        job: JobId,
        /// The epoch of the lost lease.
        epoch: Epoch,
    },
    /// This outcome is on record: a transaction that was taken for failed was committed after all, with what was written
    /// beside it. Nothing was written.
    #[error(
        "this outcome of job {job} under epoch {epoch} was committed before; roll back, what came with it stands"
    )]
    Already {
        /// Which job.
        job: JobId,
        /// The epoch of the attempt.
        epoch: Epoch,
    },
    /// The statement failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
