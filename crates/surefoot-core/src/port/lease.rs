//! Keeping a lease.

use crate::id::{Epoch, JobId};
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
