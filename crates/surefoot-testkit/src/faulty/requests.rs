//! [`FaultyRequests`]: the port of requests, verb by verb, each carried through the plan of faults.

use std::sync::Arc;

use async_trait::async_trait;
use surefoot_core::port::{
    Forgotten, RequestDepth, RequestFilter, RequestHead, RequestWritten, Requests,
};
use surefoot_core::request::{Arrived, Identity, NewRequest, Request, RequestId};
use surefoot_core::time::Timestamp;

use super::store::Answer;
use super::{FaultyStore, Verb};

/// Requests that fail before or after a verb takes effect, or are slow, by the plan of a [`FaultyStore`]: scripts,
/// chances and counts are set and read there.
#[derive(Clone)]
pub struct FaultyRequests {
    faults: FaultyStore,
    inner: Arc<dyn Requests>,
}

impl FaultyStore {
    /// Requests that go wrong by this store's plan.
    #[must_use]
    pub fn requests(&self, inner: Arc<dyn Requests>) -> FaultyRequests {
        FaultyRequests {
            faults: self.clone(),
            inner,
        }
    }
}

impl std::fmt::Debug for FaultyRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyRequests")
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Requests for FaultyRequests {
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Answer<Arrived> {
        let call = self.inner.begin(new, now);
        self.faults.carry(Verb::Begin, call).await
    }

    async fn write_request(&self, request: &Request) -> Answer<RequestWritten> {
        let call = self.inner.write_request(request);
        self.faults.carry(Verb::WriteRequest, call).await
    }

    async fn request(&self, identity: &Identity) -> Answer<Option<Request>> {
        let call = self.inner.request(identity);
        self.faults.carry(Verb::Request, call).await
    }

    async fn request_by_id(&self, id: RequestId) -> Answer<Option<Request>> {
        let call = self.inner.request_by_id(id);
        self.faults.carry(Verb::RequestById, call).await
    }

    async fn due_requests(&self, now: Timestamp, limit: u32) -> Answer<Vec<Request>> {
        let call = self.inner.due_requests(now, limit);
        self.faults.carry(Verb::DueRequests, call).await
    }

    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Answer<Vec<RequestHead>> {
        let call = self.inner.requests(filter, before, limit);
        self.faults.carry(Verb::Requests, call).await
    }

    async fn request_depth(&self) -> Answer<RequestDepth> {
        let call = self.inner.request_depth();
        self.faults.carry(Verb::RequestDepth, call).await
    }

    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Answer<Forgotten> {
        let call = self.inner.forget_requests(now, limit);
        self.faults.carry(Verb::ForgetRequests, call).await
    }
}
