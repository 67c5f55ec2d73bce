//! The port between the front door and what remembers requests. It is apart from [`Store`](super::Store): a guard
//! in front of another service needs nothing of jobs. The rules of the port hold here too.

use async_trait::async_trait;

use crate::error::StoreError;
use crate::id::{Epoch, Tenant};
use crate::request::{
    Arrived, Identity, NewRequest, Operation, Request, RequestId, RequestKey, RequestState,
    RequestStateName,
};
use crate::text::ErrorText;
use crate::time::Timestamp;

/// What remembers requests.
#[async_trait]
pub trait Requests: Send + Sync + 'static {
    /// Claims the key of a request, or says why not: the answer is that of [`crate::request::arrive`] for what is on
    /// record, and a claim is on record before it is answered. Claiming is one atomic step under the key's unique
    /// constraint: of any number of arrivals at once one runs. The same arrival repeated, because its answer was lost, is
    /// told to run again while its lease holds. What holds an answer back is never a twin that is open: it is answered as
    /// running.
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Result<Arrived, StoreError>;

    /// Writes down what the core made of the request on record. It applies when it follows on that one: the same id, and
    /// a version that is one more. What was asked, who asked and when never changes.
    async fn write_request(&self, request: &Request) -> Result<RequestWritten, StoreError>;

    /// The request that holds a key.
    async fn request(&self, identity: &Identity) -> Result<Option<Request>, StoreError>;

    /// The request with this id: that of the arrival that first claimed its key.
    async fn request_by_id(&self, id: RequestId) -> Result<Option<Request>, StoreError>;

    /// Requests that somebody has to look at ([`Request::due_at`]): claimed ones whose lease ended at `now` or before, and
    /// unknown ones that are to be asked about at `now` or before; the longest due first, those of one time by id, at
    /// most `limit` and [`PAGE_MAX`](super::PAGE_MAX).
    async fn due_requests(&self, now: Timestamp, limit: u32) -> Result<Vec<Request>, StoreError>;

    /// Requests that match, without their answers, the latest (the highest id) first, those before `before`, at most
    /// `limit` and [`PAGE_MAX`](super::PAGE_MAX).
    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Result<Vec<RequestHead>, StoreError>;

    /// How many requests are open.
    async fn request_depth(&self) -> Result<RequestDepth, StoreError>;

    /// Takes away the answers whose retention is over at `now` ([`Request::expired`]), then forgets the requests without
    /// an answer whose tombstone is over ([`Request::forget_at`]), at most `limit` and [`BATCH_MAX`](super::BATCH_MAX) of
    /// each, the oldest first. What is claimed, unknown or waits for a person is never forgotten. A forgotten request's
    /// key is free.
    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Result<Forgotten, StoreError>;
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestWritten {
    /// It was written.
    Applied,
    /// It had been written already: the same call, repeated.
    Already,
    /// Somebody else wrote first. Nothing was written; this is on record. `None` when no request with this id is.
    Changed(Option<Box<Request>>),
}

/// Which requests to list; every field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// The tenant.
    pub tenant: Option<Tenant>,
    /// The key.
    pub key: Option<RequestKey>,
    /// The state.
    pub state: Option<RequestStateName>,
}

/// A request without what was asked and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// Its id.
    pub id: RequestId,
    /// What makes it one intent.
    pub identity: Identity,
    /// Which operation was asked for.
    pub operation: Operation,
    /// When its key was first claimed.
    pub claimed_at: Timestamp,
    /// The epoch of the latest claim.
    pub epoch: Epoch,
    /// Its state.
    pub state: RequestStateName,
    /// Since when it is in it; for one that expired, when it finished.
    pub since: Timestamp,
    /// When somebody has to look at it next.
    pub due_at: Option<Timestamp>,
    /// The status of its answer.
    pub status: Option<u16>,
    /// Why it is in its state, where that has a reason.
    pub error: Option<ErrorText>,
    /// How many later witnesses said something else.
    pub disputes: u32,
}

/// How many requests are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDepth {
    /// Claimed: running, or lapsed and not yet looked at.
    pub claimed: u64,
    /// Of unknown outcome.
    pub unknown: u64,
    /// Waiting for a person.
    pub needs_human: u64,
    /// Since when the oldest of those that are unknown or wait for a person is.
    pub oldest_unknown: Option<Timestamp>,
}

/// What [`Requests::forget_requests`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Answers that were taken away.
    pub expired: u64,
    /// Requests that were forgotten.
    pub forgotten: u64,
    /// Whether there is more to do: call again.
    pub more: bool,
}

impl RequestFilter {
    /// Whether a request matches.
    #[must_use]
    pub fn matches(&self, request: &Request) -> bool {
        self.tenant
            .as_ref()
            .is_none_or(|tenant| *tenant == request.identity.tenant)
            && self
                .key
                .as_ref()
                .is_none_or(|key| *key == request.identity.key)
            && self.state.is_none_or(|state| state == request.state.name())
    }
}

impl RequestHead {
    /// The head of a request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let (since, status, error) = match &request.state {
            RequestState::Claimed { since, .. } => (*since, None, None),
            RequestState::Finished { at, kept, .. } => (*at, Some(kept.status()), None),
            RequestState::Unknown { since, error, .. }
            | RequestState::NeedsHuman { since, error } => (*since, None, Some(error.clone())),
            RequestState::Released { at, error, .. } => (*at, None, Some(error.clone())),
            RequestState::Expired { at, status } => (*at, Some(*status), None),
        };
        Self {
            id: request.id,
            identity: request.identity.clone(),
            operation: request.operation.clone(),
            claimed_at: request.claimed_at,
            epoch: request.epoch,
            state: request.state.name(),
            since,
            due_at: request.due_at(),
            status,
            error,
            disputes: u32::try_from(request.disputes.len()).unwrap_or(u32::MAX),
        }
    }
}
