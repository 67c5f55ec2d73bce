//! A guarded service whose handlers count their runs, and clients that ask it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::any;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use surefoot_core::id::{Tenant, Worker};
use surefoot_core::port::Requests;
use surefoot_core::request::{End, Identity, RequestKey, RequestState};
use surefoot_core::time::{Clock, Timestamp};
use surefoot_http::{
    DoorEvent, DoorObserver, Guard, GuardOptions, IdempotencyLayer, RoutePolicy, Routes,
    SingleTenant, Tenants,
};
use surefoot_testkit::{FaultyRequests, FaultyStore, MemoryStore, TokioClock};
use tower::ServiceExt;

/// A service and all that stands around it.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) app: Router,
    pub(crate) guard: Guard,
    pub(crate) store: MemoryStore,
    pub(crate) faults: FaultyStore,
    pub(crate) clock: Arc<TokioClock>,
    pub(crate) runs: Arc<AtomicUsize>,
    pub(crate) seen: Seen,
}

/// What the observer saw, in short.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

/// What a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

/// A service whose one handler is `run`, guarded by `policy`.
pub(crate) fn front<F, Fut>(policy: RoutePolicy, run: F) -> Front
where
    F: Fn(Request<Body>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<Body>> + Send + 'static,
{
    front_for(SingleTenant(tenant("me")), policy, run)
}

pub(crate) fn front_for<F, Fut>(tenants: impl Tenants, policy: RoutePolicy, run: F) -> Front
where
    F: Fn(Request<Body>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<Body>> + Send + 'static,
{
    let clock = Arc::new(TokioClock::starting_at(Timestamp::from_micros(
        1_700_000_000_000_000,
    )));
    let store = MemoryStore::new(clock.clone());
    front_over(store, clock, tenants, policy, run)
}

fn front_over<F, Fut>(
    store: MemoryStore,
    clock: Arc<TokioClock>,
    tenants: impl Tenants,
    policy: RoutePolicy,
    run: F,
) -> Front
where
    F: Fn(Request<Body>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<Body>> + Send + 'static,
{
    let faults = FaultyStore::over(Arc::new(store.clone()), 1);
    let requests: FaultyRequests = faults.requests(Arc::new(store.clone()));
    let mut options = GuardOptions::new(Worker::new("node").unwrap());
    options.routes = Routes::all(policy);
    let seen = Seen::default();
    let guard = Guard::observed(
        Arc::new(requests),
        clock.clone(),
        tenants,
        options,
        seen.clone(),
    );
    let guard = guard.unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let handler = move |request: Request<Body>| {
        counted.fetch_add(1, Ordering::SeqCst);
        run.clone()(request)
    };
    let app = Router::new()
        .route("/payments", any(handler.clone()))
        .route("/payments/{id}", any(handler))
        .layer(IdempotencyLayer::new(guard.clone()));
    Front {
        app,
        guard,
        store,
        faults,
        clock,
        runs,
        seen,
    }
}

impl DoorObserver for Seen {
    fn on(&self, event: &DoorEvent<'_>) {
        let line = match event {
            DoorEvent::Answered {
                operation,
                said,
                status,
                ..
            } => {
                let operation = operation.map_or_else(String::new, ToString::to_string);
                format!("answered {operation} {} {}", said.as_str(), status.as_u16())
            }
            DoorEvent::RunEnded { end, .. } => match end {
                End::Answered(kept) => format!("ended {}", kept.status()),
                End::NothingHappened(why) => format!("nothing happened: {}", why.as_str()),
                End::Unknown(why) => format!("unknown: {}", why.as_str()),
            },
            DoorEvent::LeaseLost { .. } => "lease lost".to_owned(),
            DoorEvent::NotRecorded { .. } => "not recorded".to_owned(),
            DoorEvent::RecordGivenUp { .. } => "given up".to_owned(),
            DoorEvent::Disputed { .. } => "disputed".to_owned(),
            DoorEvent::RanUnguarded { .. } => "unguarded".to_owned(),
            DoorEvent::Reconciled(round) => format!("reconciled {}", round.lapsed),
            DoorEvent::StoreError { verb, .. } => format!("store failed in {verb}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Seen {
    /// What was seen since the last look.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A handler that answers 201 with how many times it ran.
pub(crate) fn numbered()
-> impl Fn(Request<Body>) -> std::future::Ready<Response<Body>> + Clone + Send + Sync + 'static {
    let count = Arc::new(AtomicUsize::new(0));
    move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        std::future::ready(answer(201, format!("run {number}")))
    }
}

pub(crate) fn answer(status: u16, body: impl Into<Body>) -> Response<Body> {
    let response = Response::builder().status(status);
    response.body(body.into()).unwrap()
}

pub(crate) fn post(key: &str, body: &'static str) -> Request<Body> {
    Request::post("/payments")
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap()
}

impl Front {
    /// Another node over the same store.
    pub(crate) fn beside(&self, policy: RoutePolicy) -> Self {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        front_over(store, clock, SingleTenant(tenant("me")), policy, numbered())
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> Got {
        let response = self.app.clone().oneshot(request).await.unwrap();
        got(response).await
    }

    pub(crate) async fn post(&self, key: &str) -> Got {
        self.ask(post(key, "{\"amount\":1}")).await
    }

    pub(crate) fn ran(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// The state of a key of the tenant `me`.
    pub(crate) async fn state(&self, key: &str) -> Option<RequestState> {
        let identity = Identity {
            tenant: tenant("me"),
            key: RequestKey::new(key).unwrap(),
        };
        let known = self.store.request(&identity).await.unwrap();
        known.map(|request| request.state)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

pub(crate) async fn got(response: Response<Body>) -> Got {
    let (head, body) = response.into_parts();
    Got {
        status: head.status,
        headers: head.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The status, `Idempotency-Status` and `Idempotency-Error`.
    pub(crate) fn marks(&self) -> (u16, Option<&str>, Option<&str>) {
        (
            self.status.as_u16(),
            self.header("idempotency-status"),
            self.header("idempotency-error"),
        )
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
