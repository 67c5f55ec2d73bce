//! The checkout of act two. The front door claims the key before anything runs; the payment is a job whose one effect is
//! verified, so a time-out is asked about and never simply sent again; the customer is told within a moment either the
//! receipt, or where to look. A kill at any point loses nothing: what was claimed and what was handed in is on record.

mod door;
mod payment;
mod psp;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use surefoot::core::job::{JobState, StateName};
use surefoot::{Engine, EngineOptions, NodeClock};
use surefoot_http::{IdempotencyLayer, RequestContext, Told};

use super::{CheckoutOptions, Order, Standing};
use crate::error::DemoError;
use crate::times::ANSWER_WITHIN;
use payment::Payment;
use psp::Psp;

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
    let provider = psp.clone();
    let engine = Engine::over(ports.store)
        .handle(
            move |job, cx| payment::carry_out(job, cx, provider.clone()),
            payment::policy(),
        )
        .options(EngineOptions {
            poll: Duration::from_millis(200),
            sweep: Duration::from_millis(500),
            ..EngineOptions::default()
        })
        .start()
        .await
        .map_err(DemoError::unsound("the engine"))?;
    let guard = door::guard(ports.requests, Arc::new(clock), &engine)?;
    let shop = Shop { engine, psp };
    Ok(Router::new()
        .route("/payments", post(pay))
        .layer(IdempotencyLayer::new(guard))
        .route("/payments/{key}", get(look))
        .route("/standing", get(standing))
        .with_state(shop))
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
        Ok(Ok(_)) => (StatusCode::CREATED, Json(told("paid"))).into_response(),
        Ok(Err(_)) | Err(_) => working(&key),
    }
}

/// Where a customer is told how a payment stands.
fn place(key: &str) -> String {
    format!("/payments/{key}")
}

fn told(state: &str) -> Value {
    json!({ "state": state })
}

fn working(key: &str) -> Response {
    let place = [(header::LOCATION, place(key))];
    (StatusCode::ACCEPTED, place, Json(told("working"))).into_response()
}

/// How a payment stands.
async fn look(State(shop): State<Shop>, Path(key): Path<String>) -> Response {
    let job = match payment::find(&shop.engine, &key).await {
        Ok(Some(job)) => shop.engine.client().job(job).await,
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    };
    let record = match job {
        Ok(Some(record)) => record,
        Ok(None) => return StatusCode::NOT_FOUND.into_response(),
        Err(_) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
    };
    let state = match record.job.state {
        JobState::Succeeded { .. } => "paid",
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. } => "working",
        JobState::Dead(_) => "person",
        JobState::Cancelled { .. } | JobState::Ignored { .. } => "refused",
    };
    Json(told(state)).into_response()
}

async fn standing(State(shop): State<Shop>) -> Json<Standing> {
    let depth = shop.engine.client().depth().await;
    let counts = depth.map(|depth| depth.counts).unwrap_or_default();
    let of = |states: &[StateName]| {
        let these = counts.iter().filter(|count| states.contains(&count.state));
        these.map(|count| count.count).sum()
    };
    Json(Standing {
        breaker: Some(shop.psp.charges.status().breaker.as_str().to_owned()),
        queue: of(&[
            StateName::Pending,
            StateName::Running,
            StateName::Retrying,
            StateName::Verifying,
        ]),
        verifying: of(&[StateName::Verifying]),
    })
}
