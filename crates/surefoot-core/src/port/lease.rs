//! Keeping a lease, and what becomes of a job whose deadline passes while it has none.

use crate::id::{Epoch, JobId, Kind};
use crate::job::DeadReason;
use crate::time::Timestamp;

/// A lease to extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Which job.
    pub job: JobId,
    /// The epoch of the lease.
    pub epoch: Epoch,
    /// Until when; a lease is never shortened.
    pub until: Timestamp,
}

/// What became of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extended {
    /// It holds.
    Held {
        /// Until when.
        until: Timestamp,
        /// Somebody asked to cancel the job.
        cancel_requested: bool,
    },
    /// It does not hold any more. Nothing was written.
    Lost,
}

/// What a heartbeat found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// For each lease, what became of it.
    pub extended: Vec<Extended>,
    /// The database's clock.
    pub database_now: Timestamp,
}

/// A job that became a dead letter because its deadline passed while it waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiredJob {
    /// Which job.
    pub job: JobId,
    /// Its kind.
    pub kind: Kind,
    /// Why it is dead, by [`crate::settle::expired`].
    pub reason: DeadReason,
}
