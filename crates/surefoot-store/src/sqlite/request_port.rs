//! The port of requests, and requests in the caller's own transaction.

use async_trait::async_trait;
use rusqlite::Transaction;
use surefoot_core::error::StoreError;
use surefoot_core::port::{
    Forgotten, RequestDepth, RequestFilter, RequestHead, RequestWritten, Requests,
};
use surefoot_core::request::{Arrived, Identity, NewRequest, Request, RequestId};
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::mailbox::Urgency::Ordinary;
use super::store::SqliteStore;
use super::{request, request_forget, request_list};
use crate::request_record::encode;

#[async_trait]
impl Requests for SqliteStore {
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Result<Arrived, StoreError> {
        let new = new.clone();
        self.call("begin", 1, Ordinary, move |ledger| {
            request::begin(ledger, &new, now)
        })
        .await
    }

    async fn write_request(&self, request: &Request) -> Result<RequestWritten, StoreError> {
        let (row, request) = (encode(request)?, request.clone());
        self.call("write_request", 1, Ordinary, move |ledger| {
            request::write(ledger, &request, &row)
        })
        .await
    }

    async fn request(&self, identity: &Identity) -> Result<Option<Request>, StoreError> {
        let identity = identity.clone();
        self.look("request", move |view| request::known(view, &identity))
            .await
    }

    async fn request_by_id(&self, id: RequestId) -> Result<Option<Request>, StoreError> {
        self.read("request_by_id", move |view| request::by_id(view, id))
            .await
    }

    async fn due_requests(&self, now: Timestamp, limit: u32) -> Result<Vec<Request>, StoreError> {
        self.read("due_requests", move |view| {
            request_list::due(view, now, limit)
        })
        .await
    }

    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Result<Vec<RequestHead>, StoreError> {
        let filter = filter.clone();
        self.read("requests", move |view| {
            request_list::list(view, &filter, before, limit)
        })
        .await
    }

    async fn request_depth(&self) -> Result<RequestDepth, StoreError> {
        self.read("request_depth", request_list::depth).await
    }

    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Result<Forgotten, StoreError> {
        self.call("forget_requests", limit as usize, Ordinary, move |ledger| {
            request_forget::forget(ledger, now, limit)
        })
        .await
    }
}

impl SqliteStore {
    /// Claims the key of a request inside the caller's own transaction, by the rules of [`Requests::begin`]: claim,
    /// business rows and answer are there together or not at all, and after a rollback the key is as it was. Begin the
    /// transaction with `BEGIN IMMEDIATE`. SQLite has one writer: a twin waits for it to end and is answered then, so the
    /// transaction must be short.
    ///
    /// # Errors
    /// Those of the statement, after which the caller should roll back.
    pub fn begin_in(
        tx: &Transaction<'_>,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Arrived, StoreError> {
        request::begin(&Ledger::of(tx), new, now)
    }

    /// Writes down what became of a request inside the caller's own transaction, by the rules of
    /// [`Requests::write_request`]. Any answer but [`RequestWritten::Applied`] means that somebody else's word stands: roll
    /// back.
    ///
    /// # Errors
    /// Those of the statement, after which the caller should roll back.
    pub fn finish_in(
        tx: &Transaction<'_>,
        request: &Request,
    ) -> Result<RequestWritten, StoreError> {
        request::write(&Ledger::of(tx), request, &encode(request)?)
    }
}
