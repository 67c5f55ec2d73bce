//! Handing a job in.

use crate::id::{ConcurrencyKey, JobId, Key, Kind, OrderKey, Queue, Tenant};
use crate::job::TraceContext;
use crate::payload::Payload;
use crate::time::Timestamp;

/// A job to write down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Made by the caller, so that a repeated call is seen as one.
    pub id: JobId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What it does.
    pub kind: Kind,
    /// What makes it one intent; without a key nothing is deduplicated.
    pub key: Option<Key>,
    /// Where it waits.
    pub queue: Queue,
    /// A higher number runs earlier.
    pub priority: i16,
    /// One at a time, first in first out.
    pub order_key: Option<OrderKey>,
    /// Shares a limit.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// What the handler is given.
    pub payload: Payload,
    /// The caller's trace context.
    pub trace: Option<TraceContext>,
    /// The earliest time it runs; `None` is at once.
    pub run_at: Option<Timestamp>,
    /// After this no attempt starts.
    pub deadline_at: Option<Timestamp>,
}

/// What became of a job that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It was written down.
    Created(JobId),
    /// Its key was there already, with the same payload.
    Existing(JobId),
    /// Its key was there already, with another payload; nothing was written.
    Conflict(JobId),
}

impl Enqueued {
    /// The job that holds the key.
    #[must_use]
    pub const fn job(self) -> JobId {
        match self {
            Self::Created(job) | Self::Existing(job) | Self::Conflict(job) => job,
        }
    }
}
