//! Lists, groups and counts.

use crate::id::{JobId, Key, Kind, Queue, Tenant};
use crate::job::{DeadReason, StateName};
use crate::text::{ErrorFingerprint, ErrorText};
use crate::time::Timestamp;

/// Which jobs to list; every field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// The tenant.
    pub tenant: Option<Tenant>,
    /// The state.
    pub state: Option<StateName>,
    /// The kind.
    pub kind: Option<Kind>,
    /// The queue.
    pub queue: Option<Queue>,
    /// The key.
    pub key: Option<Key>,
    /// The error fingerprint, of dead letters only.
    pub fingerprint: Option<ErrorFingerprint>,
}

/// Dead letters that share a kind, a reason and an error fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadGroup {
    /// Their kind.
    pub kind: Kind,
    /// Their reason.
    pub reason: DeadReason,
    /// Their fingerprint.
    pub fingerprint: ErrorFingerprint,
    /// The error of the latest of them.
    pub error: ErrorText,
    /// The latest of them, of those that died at once the one with the highest id: the one to replay first.
    pub latest: JobId,
    /// How many.
    pub count: u64,
    /// When the first of them died.
    pub oldest_at: Timestamp,
    /// When the latest of them died.
    pub latest_at: Timestamp,
}

/// How much waits, runs and is dead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// One entry for each (queue, kind, state) that has jobs, of the states `pending`, `running`, `retrying`,
    /// `verifying` and `dead`; in the order of queue, kind, state.
    pub counts: Vec<DepthCount>,
    /// The due time of the job that is due the longest, among jobs that wait and are due.
    pub oldest_due: Option<Timestamp>,
    /// When the oldest dead letter died.
    pub oldest_dead: Option<Timestamp>,
}

/// One line of [`Depth`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DepthCount {
    /// The queue.
    pub queue: Queue,
    /// The kind.
    pub kind: Kind,
    /// The state.
    pub state: StateName,
    /// How many.
    pub count: u64,
}

/// What [`Store::maintain`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Jobs that left history.
    pub jobs_dropped: u64,
    /// Whether there is more to drop: call again.
    pub more: bool,
}
