//! A stand-in for what the shop calls: a payment provider that does not deduplicate, so that its books tell every charge, and a
//! recommendation service. Both misbehave by a script: `POST /script/charges` with `["503", "take_then_hang"]` says what the
//! next charges meet, `POST /script/recommendations` with `"hang"` what every further question meets until it is told
//! otherwise. `GET /books` tells what was asked and what was taken.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

/// The longest that a call is left without an answer.
const HANG: Duration = Duration::from_secs(600);
/// The most acts of a script.
const ACTS_MAX: usize = 1000;

#[derive(Default)]
struct Stage {
    charges: VecDeque<String>,
    recommendations: String,
    /// How often it was asked to take money.
    calls: u32,
    /// What was taken, by key: once for each call that took.
    taken: BTreeMap<String, Vec<u64>>,
    /// How often it was asked what became of a charge.
    questions: u32,
    /// How often it was asked for recommendations.
    pages: u32,
}

type Shared = Arc<Mutex<Stage>>;

#[derive(serde::Deserialize)]
struct Charge {
    cents: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::var("OUTSIDE_LISTEN").unwrap_or_else(|_| "127.0.0.1:8090".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!(
        "{}",
        json!({ "listen": format!("http://{}", listener.local_addr()?) })
    );
    let routes = Router::new()
        .route("/charges", post(charge))
        .route("/charges/{key}", get(find))
        .route("/recommendations/{product}", get(recommend))
        .route("/script/charges", post(script_charges))
        .route("/script/recommendations", post(script_recommendations))
        .route("/books", get(books))
        .with_state(Shared::default());
    axum::serve(listener, routes).await?;
    Ok(())
}

async fn charge(
    State(stage): State<Shared>,
    headers: HeaderMap,
    Json(charge): Json<Charge>,
) -> Response {
    let key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok());
    let Some(key) = key.map(str::to_owned) else {
        return (StatusCode::BAD_REQUEST, "no key").into_response();
    };
    let act = with(&stage, |stage| {
        stage.calls += 1;
        stage.charges.pop_front()
    });
    match act.as_deref() {
        Some("503") => return (StatusCode::SERVICE_UNAVAILABLE, "overloaded").into_response(),
        Some("400") => return (StatusCode::BAD_REQUEST, "no such merchant").into_response(),
        Some("402") => return (StatusCode::PAYMENT_REQUIRED, "card expired").into_response(),
        Some("hang") => tokio::time::sleep(HANG).await,
        Some("take_then_hang") => {
            take(&stage, &key, charge.cents);
            tokio::time::sleep(HANG).await;
        }
        _ => return take(&stage, &key, charge.cents),
    }
    StatusCode::GATEWAY_TIMEOUT.into_response()
}

fn take(stage: &Shared, key: &str, cents: u64) -> Response {
    with(stage, |stage| {
        stage.taken.entry(key.to_owned()).or_default().push(cents)
    });
    receipt(key)
}

async fn find(State(stage): State<Shared>, Path(key): Path<String>) -> Response {
    let is_taken = with(&stage, |stage| {
        stage.questions += 1;
        stage.taken.contains_key(&key)
    });
    if is_taken {
        receipt(&key)
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

fn receipt(key: &str) -> Response {
    Json(json!({ "charge": format!("ch-{key}") })).into_response()
}

async fn recommend(State(stage): State<Shared>, Path(product): Path<String>) -> Response {
    let act = with(&stage, |stage| {
        stage.pages += 1;
        stage.recommendations.clone()
    });
    match act.as_str() {
        "hang" => {
            tokio::time::sleep(HANG).await;
            StatusCode::GATEWAY_TIMEOUT.into_response()
        }
        "503" => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        _ => Json([format!("goes with {product}")]).into_response(),
    }
}

async fn script_charges(State(stage): State<Shared>, Json(acts): Json<Vec<String>>) -> StatusCode {
    with(&stage, |stage| {
        stage.charges = acts.into_iter().take(ACTS_MAX).collect()
    });
    StatusCode::NO_CONTENT
}

async fn script_recommendations(
    State(stage): State<Shared>,
    Json(act): Json<String>,
) -> StatusCode {
    with(&stage, |stage| stage.recommendations = act);
    StatusCode::NO_CONTENT
}

async fn books(State(stage): State<Shared>) -> Json<serde_json::Value> {
    with(&stage, |stage| {
        Json(json!({
            "calls": stage.calls,
            "taken": stage.taken,
            "questions": stage.questions,
            "recommendations": stage.pages,
        }))
    })
}

fn with<T>(stage: &Shared, visit: impl FnOnce(&mut Stage) -> T) -> T {
    visit(&mut stage.lock().unwrap_or_else(PoisonError::into_inner))
}
