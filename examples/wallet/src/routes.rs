//! What callers see. A movement that was answered with 200, 202 or 409 is durable under its transaction id; a caller that got
//! anything else, or nothing, sends the same again until it has one of them.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use surefoot::{Client, Error};

use crate::ledger::Ledger;
use crate::movement::{Moved, Movement};

/// How long a caller is kept waiting. The movement goes on without it.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// The most that one movement may move.
const CENTS_MAX: i64 = 100_000_000;

/// What every route shares.
#[derive(Clone)]
pub struct Counter {
    /// Hands movements in.
    pub client: Client,
    /// Looks.
    pub ledger: Ledger,
}

/// The routes.
pub fn routes(counter: Counter) -> Router {
    Router::new()
        .route("/wallets/{wallet}", get(balance))
        .route("/wallets/{wallet}/journal", get(journal))
        .route("/wallets/{wallet}/deposits", post(deposit))
        .route("/wallets/{wallet}/withdrawals", post(withdraw))
        .with_state(counter)
}

#[derive(Deserialize)]
struct Order {
    transaction: String,
    cents: i64,
}

async fn deposit(
    State(counter): State<Counter>,
    Path(wallet): Path<String>,
    Json(order): Json<Order>,
) -> Response {
    let cents = order.cents;
    moved(&counter, wallet, order, cents).await
}

async fn withdraw(
    State(counter): State<Counter>,
    Path(wallet): Path<String>,
    Json(order): Json<Order>,
) -> Response {
    let cents = order.cents.saturating_neg();
    moved(&counter, wallet, order, cents).await
}

async fn moved(counter: &Counter, wallet: String, order: Order, cents: i64) -> Response {
    if !(1..=CENTS_MAX).contains(&order.cents) {
        return told(
            StatusCode::UNPROCESSABLE_ENTITY,
            "no such amount can be moved",
        );
    }
    let movement = Movement {
        transaction: order.transaction,
        wallet,
        cents,
    };
    let answer = tokio::time::timeout(ANSWER_WITHIN, carried_out(&counter.client, &movement));
    answer
        .await
        // Perhaps it was taken in and perhaps not; the caller may ask by sending the same again.
        .unwrap_or_else(|_| again(StatusCode::SERVICE_UNAVAILABLE, "send the same again"))
}

/// Hands a movement in, and waits a little for what becomes of it.
async fn carried_out(client: &Client, movement: &Movement) -> Response {
    let job = match client.enqueue_job(movement).await {
        Ok(job) => job,
        Err(Error::Conflict(_)) => {
            return told(
                StatusCode::UNPROCESSABLE_ENTITY,
                "this transaction id belongs to another movement",
            );
        }
        Err(error) if error.is_transient() => {
            return again(StatusCode::SERVICE_UNAVAILABLE, "send the same again");
        }
        Err(error) => return told(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    };
    match tokio::time::timeout(ANSWER_WITHIN / 2, client.result(job)).await {
        Ok(Ok(moved @ Moved::Done { .. })) => Json(moved).into_response(),
        Ok(Ok(moved @ Moved::InsufficientFunds { .. })) => {
            (StatusCode::CONFLICT, Json(moved)).into_response()
        }
        // It is durable and will be done; a person looks where it cannot be.
        Ok(Err(_)) | Err(_) => again(StatusCode::ACCEPTED, "it is being done"),
    }
}

async fn balance(State(counter): State<Counter>, Path(wallet): Path<String>) -> Response {
    match counter.ledger.balance(wallet).await {
        Ok(cents) => Json(json!({ "balance_cents": cents })).into_response(),
        Err(failure) => told(StatusCode::SERVICE_UNAVAILABLE, failure.text.as_str()),
    }
}

async fn journal(State(counter): State<Counter>, Path(wallet): Path<String>) -> Response {
    match counter.ledger.journal(wallet).await {
        Ok(entries) => Json(entries).into_response(),
        Err(failure) => told(StatusCode::SERVICE_UNAVAILABLE, failure.text.as_str()),
    }
}

fn told(status: StatusCode, detail: &str) -> Response {
    (status, Json(json!({ "detail": detail }))).into_response()
}

fn again(status: StatusCode, detail: &str) -> Response {
    ([("retry-after", "1")], told(status, detail)).into_response()
}
