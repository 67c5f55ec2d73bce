//! A claim that lands after the guard had given it up, as a commit does that the disk holds up.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::routing::any;
use surefoot_core::error::StoreError;
use surefoot_core::id::Worker;
use surefoot_core::port::{
    Forgotten, RequestDepth, RequestFilter, RequestHead, RequestWritten, Requests,
};
use surefoot_core::request::{
    Arrived, Clocks, Identity, NewRequest, Request, RequestId, RequestPolicy,
};
use surefoot_core::time::Timestamp;
use surefoot_http::{Guard, GuardOptions, IdempotencyLayer, RoutePolicy, Routes, SingleTenant};
use surefoot_testkit::{MemoryStore, TokioClock};
use tokio::sync::Mutex;
use tower::ServiceExt;

use crate::fixture::{answer, got, post, seconds, tenant};

/// A store with one writer, whose first commit takes long. What was handed to the writer is done, whoever waits for it.
struct SlowDisk {
    store: MemoryStore,
    writer: Arc<Mutex<Option<Duration>>>,
}

#[async_trait]
impl Requests for SlowDisk {
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Result<Arrived, StoreError> {
        let (store, writer, new) = (self.store.clone(), self.writer.clone(), new.clone());
        let written = tokio::spawn(async move {
            let mut stands_still = writer.lock().await;
            if let Some(time) = stands_still.take() {
                tokio::time::sleep(time).await;
            }
            store.begin(&new, now).await
        });
        written.await.unwrap()
    }

    async fn write_request(&self, request: &Request) -> Result<RequestWritten, StoreError> {
        self.store.write_request(request).await
    }

    async fn request(&self, identity: &Identity) -> Result<Option<Request>, StoreError> {
        self.store.request(identity).await
    }

    async fn request_by_id(&self, id: RequestId) -> Result<Option<Request>, StoreError> {
        self.store.request_by_id(id).await
    }

    async fn due_requests(&self, now: Timestamp, limit: u32) -> Result<Vec<Request>, StoreError> {
        self.store.due_requests(now, limit).await
    }

    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Result<Vec<RequestHead>, StoreError> {
        self.store.requests(filter, before, limit).await
    }

    async fn request_depth(&self) -> Result<RequestDepth, StoreError> {
        self.store.request_depth().await
    }

    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Result<Forgotten, StoreError> {
        self.store.forget_requests(now, limit).await
    }
}

/// A client that was told that nothing ran, and to send it again, gets its request run then.
#[tokio::test(start_paused = true)]
async fn a_commit_that_the_disk_holds_up_does_not_take_the_key() {
    // The default lease, and one that is over before the claim is on record.
    for lease in [60, 4] {
        let clock = Arc::new(TokioClock::starting_at(Timestamp::from_micros(
            1_700_000_000_000_000,
        )));
        let disk = SlowDisk {
            store: MemoryStore::new(clock.clone()),
            writer: Arc::new(Mutex::new(Some(seconds(7)))),
        };
        let mut options = GuardOptions::new(Worker::new("node").unwrap());
        options.routes = Routes::all(RoutePolicy {
            request: RequestPolicy {
                clocks: Clocks {
                    lease: seconds(lease),
                    ..Clocks::default()
                },
                ..RequestPolicy::default()
            },
            ..RoutePolicy::default()
        });
        let me = SingleTenant(tenant("me"));
        let guard = Guard::new(Arc::new(disk), clock, me, options).unwrap();
        let app = Router::new()
            .route("/payments", any(async || answer(201, "done")))
            .layer(IdempotencyLayer::new(guard.clone()));
        let ask = async || got(app.clone().oneshot(post("k", "{}")).await.unwrap()).await;
        let given_up = ask().await;
        assert_eq!(given_up.marks(), (503, None, Some("store-unavailable")));
        assert_eq!(guard.drain(seconds(30)).await, 0);
        let again = ask().await;
        assert_eq!(again.marks(), (201, Some("executed"), None), "{lease}");
        assert_eq!(ask().await.marks(), (201, Some("replayed"), None));
    }
}
