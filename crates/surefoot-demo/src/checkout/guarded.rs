//! The checkout of act two. The front door claims the key before anything runs; the payment is a job whose one effect is
//! verified, so a time-out is asked about and never simply sent again; the customer is told within a moment either the
//! receipt, or where to look. A kill at any point loses nothing: what was claimed and what was handed in is on record.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::id::{JobId, Key, Kind, Tenant, Worker};
use surefoot::core::job::{JobState, StateName};
use surefoot::core::port::Requests;
use surefoot::core::request::{Answer, Body, Clocks, Request, RequestPolicy, RequestVerdict};
use surefoot::{Cx, Engine, EngineOptions, Job, JobPolicy, NodeClock, Outcome, Verify, VerifyPlan};
use surefoot_http::{
    Guard, GuardOptions, IdempotencyLayer, Need, Reconcile, Reconciler, ReconcilerOptions,
    RequestContext, RoutePolicy, Routes, SingleTenant, Told,
};
use tokio_util::sync::CancellationToken;

use super::psp::{Psp, Receipt};
use super::{CheckoutOptions, Order, Standing};
use crate::error::DemoError;
use crate::times::{
    ANSWER_WITHIN, ASK_EVERY, ASK_TIMEOUT, CHARGE_TIMEOUT, CUSTOMER_TIMEOUT, SETTLES_WITHIN,
};

/// A payment, carried out in the background.
#[derive(Debug, Serialize, Deserialize)]
struct Payment {
    /// The customer's key.
    key: String,
    order: Order,
}

impl Job for Payment {
    const KIND: &'static str = "payment";
    type Output = Receipt;

    fn key(&self) -> Option<String> {
        Some(self.key.clone())
    }
}

async fn pay_by_job(job: Payment, cx: Cx, psp: Psp) -> Outcome<Receipt> {
    let asked = psp.clone();
    let ask = Verify::by(move |key| {
        let psp = asked.clone();
        async move { psp.find(key.as_str()).await }
    });
    let plan = VerifyPlan {
        backoff: every(ASK_EVERY),
        asks_max: 200,
        give_up_after: Duration::from_secs(60),
    };
    let ask = ask
        .settles_within(SETTLES_WITHIN)
        .plan(plan)
        .timeout(ASK_TIMEOUT);
    cx.effect("psp.charge")
        .dependency("psp")?
        .timeout(CHARGE_TIMEOUT + Duration::from_millis(200))
        .recover(ask)
        .call(|key| async move { psp.charge(&job.order, key.as_str()).await })
        .await
}

fn job_policy() -> JobPolicy {
    JobPolicy {
        timeout: Duration::from_millis(2500),
        lease: Duration::from_millis(3500),
        attempts_max: 8,
        backoff: every(ASK_EVERY),
        ..JobPolicy::default()
    }
}

fn route_policy() -> RoutePolicy {
    RoutePolicy {
        need: Need::Required,
        request: RequestPolicy {
            clocks: Clocks {
                lease: CUSTOMER_TIMEOUT,
                settles_within: Duration::from_millis(500),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        run_max: CUSTOMER_TIMEOUT,
        // A second click gets the answer of the first.
        wait: ANSWER_WITHIN,
        ..RoutePolicy::default()
    }
}

fn every(pause: Duration) -> Backoff {
    Backoff::List {
        delays: vec![pause],
        jitter: Jitter::Full,
    }
}

#[derive(Clone)]
struct Shop {
    engine: Engine,
    psp: Psp,
}

pub(super) async fn app(options: &CheckoutOptions) -> Result<Router, DemoError> {
    let url = format!("sqlite:{}", options.folder.join("checkout.db").display());
    let ports = surefoot_store::open_ports(&url)
        .await
        .map_err(DemoError::unsound("the store"))?;
    let clock = NodeClock::measured(&*ports.store)
        .await
        .map_err(DemoError::unsound("the clock"))?;
    let psp = Psp::new(&options.provider)?;
    let engine = Engine::over(ports.store)
        .handle(
            {
                let psp = psp.clone();
                move |job, cx| pay_by_job(job, cx, psp.clone())
            },
            job_policy(),
        )
        .options(EngineOptions {
            poll: Duration::from_millis(200),
            sweep: Duration::from_millis(500),
            ..EngineOptions::default()
        })
        .start()
        .await
        .map_err(DemoError::unsound("the engine"))?;
    let guard = guard(ports.requests, Arc::new(clock), &engine)?;
    let shop = Shop { engine, psp };
    Ok(Router::new()
        .route("/payments", post(pay))
        .layer(IdempotencyLayer::new(guard))
        .route("/payments/{key}", get(look))
        .route("/standing", get(standing))
        .with_state(shop))
}

/// The front door, and what settles the requests that a kill left open.
fn guard(
    requests: Arc<dyn Requests>,
    clock: Arc<NodeClock>,
    engine: &Engine,
) -> Result<Guard, DemoError> {
    let unsound = || DemoError::unsound("the front door");
    let holder = Worker::new(format!("checkout-{:016x}", fastrand::u64(..)))
        .map_err(DemoError::unsound("the front door"))?;
    let mut options = GuardOptions::new(holder);
    options.routes = Routes::all(route_policy());
    let tenants = SingleTenant(Tenant::single());
    let guard = Guard::new(requests.clone(), clock.clone(), tenants, options).map_err(unsound())?;
    let reconciler = Reconciler::new(
        requests,
        clock,
        ByJob(engine.clone()),
        ReconcilerOptions {
            plan: VerifyPlan {
                backoff: every(ASK_EVERY),
                ..VerifyPlan::default()
            },
            every: Duration::from_millis(250),
            ..ReconcilerOptions::default()
        },
    )
    .map_err(unsound())?;
    tokio::spawn(async move { reconciler.run(CancellationToken::new()).await });
    Ok(guard)
}

async fn pay(
    State(shop): State<Shop>,
    Extension(request): Extension<RequestContext>,
    Json(order): Json<Order>,
) -> Response {
    let key = request.key().as_str().to_owned();
    let payment = Payment {
        key: key.clone(),
        order,
    };
    let job = match shop.engine.enqueue(payment).await {
        Ok(job) => job,
        Err(error) => {
            let why = Told::Unknown(error.to_string());
            return (StatusCode::SERVICE_UNAVAILABLE, Extension(why)).into_response();
        }
    };
    match tokio::time::timeout(ANSWER_WITHIN, shop.engine.result(job)).await {
        Ok(Ok(receipt)) => (StatusCode::CREATED, Json(paid(json!(receipt)))).into_response(),
        Ok(Err(_)) | Err(_) => working(&key),
    }
}

fn paid(receipt: Value) -> Value {
    json!({ "state": "paid", "receipt": receipt })
}

fn working(key: &str) -> Response {
    let place = [(header::LOCATION, format!("/payments/{key}"))];
    (
        StatusCode::ACCEPTED,
        place,
        Json(json!({ "state": "working" })),
    )
        .into_response()
}

/// How a payment stands.
async fn look(State(shop): State<Shop>, Path(key): Path<String>) -> Response {
    let found = async {
        let job = find(&shop.engine, &key).await?;
        shop.engine.client().job(job).await.ok().flatten()
    };
    let Some(record) = found.await else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let told = match record.job.state {
        JobState::Succeeded { result, .. } => paid(json!(result.as_str())),
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. } => json!({ "state": "working" }),
        JobState::Dead(_) => json!({ "state": "person" }),
        JobState::Cancelled { .. } | JobState::Ignored { .. } => json!({ "state": "refused" }),
    };
    Json(told).into_response()
}

async fn find(engine: &Engine, key: &str) -> Option<JobId> {
    let (kind, key) = (Kind::new(Payment::KIND).ok()?, Key::new(key).ok()?);
    let found = engine.client().find(&Tenant::single(), &kind, &key).await;
    found.ok().flatten()
}

/// What a request did was to hand in its job: who finds the job knows that it happened.
struct ByJob(Engine);

#[async_trait]
impl Reconcile for ByJob {
    async fn ask(&self, request: &Request) -> RequestVerdict {
        let key = request.identity.key.as_str();
        let asked = async {
            let kind = Kind::new(Payment::KIND).ok()?;
            let job = Key::new(key).ok()?;
            let client = self.0.client();
            client.find(&Tenant::single(), &kind, &job).await.ok()
        };
        match asked.await {
            Some(Some(_)) => {
                let location = format!("/payments/{key}").into_bytes();
                RequestVerdict::Happened(route_policy().request.kept(Answer {
                    status: StatusCode::ACCEPTED.as_u16(),
                    headers: vec![
                        ("content-type".to_owned(), b"application/json".to_vec()),
                        ("location".to_owned(), location),
                    ],
                    body: Body::Whole(br#"{"state":"working"}"#.to_vec()),
                    nothing_happened: false,
                }))
            }
            Some(None) => RequestVerdict::DidNotHappen,
            None => RequestVerdict::StillUnknown { ask_again_in: None },
        }
    }
}

async fn standing(State(shop): State<Shop>) -> Json<Standing> {
    let depth = shop.engine.client().depth().await;
    let counts = depth.map(|depth| depth.counts).unwrap_or_default();
    let of = |states: &[StateName]| {
        let these = counts.iter().filter(|count| states.contains(&count.state));
        these.map(|count| count.count).sum()
    };
    Json(Standing {
        breaker: Some(shop.psp.dependency.status().breaker.as_str().to_owned()),
        queue: of(&[
            StateName::Pending,
            StateName::Running,
            StateName::Retrying,
            StateName::Verifying,
        ]),
        verifying: of(&[StateName::Verifying]),
    })
}
