//! The port of requests, and requests in the caller's own transaction.

use async_trait::async_trait;
use sqlx::PgConnection;
use surefoot_core::error::StoreError;
use surefoot_core::port::{
    Forgotten, RequestDepth, RequestFilter, RequestHead, RequestWritten, Requests,
};
use surefoot_core::request::{Arrived, Identity, NewRequest, Request, RequestId};
use surefoot_core::time::Timestamp;

use super::store::PostgresStore;
use super::within::Within;
use super::{request, request_forget, request_list};

#[async_trait]
impl Requests for PostgresStore {
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Result<Arrived, StoreError> {
        request::begin(self.caller(), Within::Store, new, now).await
    }

    async fn write_request(&self, request: &Request) -> Result<RequestWritten, StoreError> {
        request::write(self.caller(), Within::Store, request).await
    }

    async fn request(&self, identity: &Identity) -> Result<Option<Request>, StoreError> {
        request::known(self.caller(), identity).await
    }

    async fn request_by_id(&self, id: RequestId) -> Result<Option<Request>, StoreError> {
        request::by_id(self.caller(), id).await
    }

    async fn due_requests(&self, now: Timestamp, limit: u32) -> Result<Vec<Request>, StoreError> {
        request_list::due(self.caller(), now, limit).await
    }

    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Result<Vec<RequestHead>, StoreError> {
        request_list::list(self.caller(), filter, before, limit).await
    }

    async fn request_depth(&self) -> Result<RequestDepth, StoreError> {
        request_list::depth(self.caller()).await
    }

    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Result<Forgotten, StoreError> {
        request_forget::forget(self.caller(), now, limit).await
    }
}

impl PostgresStore {
    /// Claims the key of a request inside the caller's own transaction on `connection`, by the rules of
    /// [`Requests::begin`]: claim, business rows and answer are there together or not at all, and after a rollback the key
    /// is as it was. A twin that comes meanwhile is told at once that it is running, and waits for nobody. The transaction
    /// must read what is committed, PostgreSQL's default.
    ///
    /// # Errors
    /// Those of the statement, after which PostgreSQL takes nothing in this transaction but its rollback.
    pub async fn begin_in(
        &self,
        connection: &mut PgConnection,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Arrived, StoreError> {
        request::begin(self.caller(), Within::Caller(connection), new, now).await
    }

    /// Writes down what became of a request inside the caller's own transaction, by the rules of
    /// [`Requests::write_request`]. Any answer but [`RequestWritten::Applied`] means that somebody else's word stands: roll
    /// back.
    ///
    /// # Errors
    /// Those of the statement, as for [`begin_in`](Self::begin_in).
    pub async fn finish_in(
        &self,
        connection: &mut PgConnection,
        request: &Request,
    ) -> Result<RequestWritten, StoreError> {
        request::write(self.caller(), Within::Caller(connection), request).await
    }
}
