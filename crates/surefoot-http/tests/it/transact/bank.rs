//! A service that writes payments in the transaction of its request, over whatever opens one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use http::{Request, Response, StatusCode};
use surefoot_core::id::{JobId, Kind, MessageId, Queue, Tenant, Topic, Worker};
use surefoot_core::message::Message;
use surefoot_core::payload::Payload;
use surefoot_core::port::{Messages, NewJob, RequestTransactions, Requests, Store};
use surefoot_core::request::{Identity, RequestKey, RequestState};
use surefoot_core::time::Timestamp;
use surefoot_http::{
    Guard, GuardOptions, InTransaction, RequestContext, RoutePolicy, Routes, SingleTenant, Told,
    TransactionLayer,
};
use surefoot_policy::context::Ambient;
use surefoot_testkit::TokioClock;
use tokio::sync::Notify;
use tower::ServiceExt;

use crate::fixture::{Got, Seen, got, tenant};

pub(crate) const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

/// A database with a table of payments.
pub(crate) trait Bank: RequestTransactions + Clone {
    /// Requests, jobs and messages of the same database.
    fn ports(&self) -> (Arc<dyn Requests>, Arc<dyn Store>, Arc<dyn Messages>);

    /// Writes a payment, appends a message and enqueues a job in a transaction.
    fn pay(
        transaction: &mut Self::Transaction,
        bank: &Self,
        job: NewJob,
    ) -> impl Future<Output = ()> + Send;

    /// How many payments are there.
    fn payments(&self) -> impl Future<Output = i64> + Send;
}

/// A guarded service of a bank.
#[derive(Clone)]
pub(crate) struct Stand<B> {
    pub(crate) bank: B,
    app: Router,
    pub(crate) guard: Guard,
    pub(crate) seen: Seen,
    /// What a handler that holds its transaction waits for.
    pub(crate) go: Arc<Notify>,
    pub(crate) runs: Arc<AtomicUsize>,
    /// How often a handler's word after its commit was heard.
    pub(crate) woken: Arc<AtomicUsize>,
    service: Service<B>,
}

/// What all nodes of a service share.
#[derive(Clone)]
struct Service<B> {
    bank: B,
    seen: Seen,
    clock: Arc<TokioClock>,
    go: Arc<Notify>,
    runs: Arc<AtomicUsize>,
    woken: Arc<AtomicUsize>,
}

impl<B: Bank> Service<B> {
    fn node<T>(&self, opener: T, policy: RoutePolicy) -> Stand<B>
    where
        T: RequestTransactions<Transaction = B::Transaction>,
    {
        let service = self.clone();
        let mut options = GuardOptions::new(Worker::new("node").unwrap());
        options.routes = Routes::all(policy);
        options.store_timeout = Duration::from_secs(2);
        let (requests, ..) = service.bank.ports();
        let tenants = SingleTenant(tenant("me"));
        let (clock, seen) = (service.clock.clone(), service.seen.clone());
        let guard = Guard::observed(requests, clock, tenants, options, seen).unwrap();
        let app = Router::new()
            .route("/payments", post(pay::<B>))
            .with_state(service.clone())
            .layer(TransactionLayer::new(guard.clone(), opener));
        Stand {
            bank: service.bank.clone(),
            app,
            guard,
            seen: service.seen.clone(),
            go: service.go.clone(),
            runs: service.runs.clone(),
            woken: service.woken.clone(),
            service,
        }
    }
}

pub(crate) fn job() -> NewJob {
    let mut random = [0; 10];
    fastrand::fill(&mut random);
    NewJob {
        id: JobId::new(START, random),
        tenant: Tenant::single(),
        kind: Kind::new("mail").unwrap(),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        trace: None,
        run_at: None,
        deadline_at: None,
    }
}

/// What every payment says.
pub(crate) fn paid() -> Message {
    Message {
        id: MessageId::new("paid").unwrap(),
        tenant: Tenant::single(),
        topic: Topic::new("payment.made").unwrap(),
        key: None,
        payload: Payload::null(),
        trace: None,
        appended_at: START,
    }
}

/// The handler: pays, then does what the body says.
async fn pay<B: Bank>(
    State(service): State<Service<B>>,
    mut tx: InTransaction<B::Transaction>,
    Json(then): Json<String>,
) -> Result<Response<axum::body::Body>, StatusCode> {
    let run = service.runs.fetch_add(1, Ordering::SeqCst) + 1;
    B::pay(&mut *tx, &service.bank, job()).await;
    let woken = service.woken.clone();
    tx.after_commit(move || {
        woken.fetch_add(1, Ordering::SeqCst);
    });
    match then.as_str() {
        "commit" => {}
        "refuse" => return Ok(tx.commit_with((StatusCode::PAYMENT_REQUIRED, "declined"))),
        "fail" => return Err(StatusCode::BAD_GATEWAY),
        "decline" => return Err(StatusCode::PAYMENT_REQUIRED),
        "panic" => panic!("a fault of the handler"),
        "panic-later" => tx.after_commit(|| panic!("a fault of what follows")),
        "forget" => return Ok((StatusCode::CREATED, "done, I think").into_response()),
        "large" => return Ok(tx.commit_with("x".repeat(2000))),
        "unknown" => return Ok(unknown()),
        // At first it does not know, later it does.
        "unsure" if run == 1 => return Ok(unknown()),
        "unsure" if run == 2 => return Err(StatusCode::BAD_GATEWAY),
        "unsure" => {}
        "context" => {
            let ambient = Ambient::current();
            let context = RequestContext::current().unwrap();
            let outer = ambient.outer.map(|outer| outer.attempt);
            let known = format!(
                "{} {outer:?} {} {}",
                ambient.deadline.is_some(),
                context.id(),
                context.trace().is_some()
            );
            return Ok(tx.commit_with(known));
        }
        "hold" => service.go.notified().await,
        other => panic!("no such case: {other}"),
    }
    Ok(tx.commit_with((StatusCode::CREATED, format!("run {run}"))))
}

fn unknown() -> Response<axum::body::Body> {
    let mut response = StatusCode::BAD_GATEWAY.into_response();
    let told = Told::Unknown("the bank timed out".to_owned());
    response.extensions_mut().insert(told);
    response
}

pub(crate) fn policy() -> RoutePolicy {
    RoutePolicy {
        request: surefoot_core::request::RequestPolicy {
            body_bytes_max: 1000,
            ..surefoot_core::request::RequestPolicy::default()
        },
        ..RoutePolicy::default()
    }
}

impl<B: Bank> Stand<B> {
    pub(crate) fn new(bank: B) -> Self {
        Self::with(bank.clone(), bank, policy())
    }

    /// A service of `bank` whose transactions `opener` opens.
    pub(crate) fn with<T>(bank: B, opener: T, policy: RoutePolicy) -> Self
    where
        T: RequestTransactions<Transaction = B::Transaction>,
    {
        let service = Service {
            bank,
            seen: Seen::default(),
            clock: Arc::new(TokioClock::starting_at(START)),
            go: Arc::default(),
            runs: Arc::default(),
            woken: Arc::default(),
        };
        service.node(opener, policy)
    }

    /// Another node of the same service.
    pub(crate) fn node<T>(&self, opener: T, policy: RoutePolicy) -> Self
    where
        T: RequestTransactions<Transaction = B::Transaction>,
    {
        self.service.node(opener, policy)
    }

    pub(crate) async fn post(&self, key: &str, then: &str) -> Got {
        self.ask(request(key, then)).await
    }

    pub(crate) async fn ask(&self, request: Request<axum::body::Body>) -> Got {
        got(self.app.clone().oneshot(request).await.unwrap()).await
    }

    pub(crate) async fn state(&self, key: &str) -> Option<RequestState> {
        let identity = Identity {
            tenant: tenant("me"),
            key: RequestKey::new(key).unwrap(),
        };
        let known = self.bank.ports().0.request(&identity).await.unwrap();
        known.map(|request| request.state)
    }

    /// Payments, jobs and messages.
    pub(crate) async fn rows(&self) -> (i64, usize, usize) {
        let (_, store, messages) = self.bank.ports();
        let paid = paid();
        let message = messages.message(&paid.tenant, &paid.id).await.unwrap();
        let jobs = store.jobs(&Default::default(), None, 100).await;
        let messages = usize::from(message.is_some());
        (self.bank.payments().await, jobs.unwrap().len(), messages)
    }

    /// Waits until a handler is at work.
    pub(crate) async fn at_work(&self, runs: usize) {
        while self.runs.load(Ordering::SeqCst) < runs {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(crate) fn request(key: &str, then: &str) -> Request<axum::body::Body> {
    Request::post("/payments")
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(format!("\"{then}\"").into())
        .unwrap()
}
