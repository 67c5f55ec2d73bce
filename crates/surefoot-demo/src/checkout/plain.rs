//! The checkout of act one, as one meets it: it looks whether the key is there, then charges, trying again on any error,
//! then writes the key down. Every statement of it is its own, and none of Surefoot is in it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use super::{CheckoutOptions, Order, Standing};
use crate::error::DemoError;
use crate::outbound;
use crate::times::{PLAIN_PAUSE, PLAIN_TIMEOUT, PLAIN_TRIES};

/// The same durability as the store's.
const PRAGMAS: &str = "pragma journal_mode = wal; pragma synchronous = full;";
const CREATE: &str = "-- plain checkout: the table
    create table if not exists payment (
        idempotency_key text primary key,
        answer text not null
    ) strict";
const LOOK: &str = "-- plain checkout: is the key there
    select answer from payment where idempotency_key = ?1";
const KEEP: &str = "-- plain checkout: write the key down
    insert into payment (idempotency_key, answer) values (?1, ?2)";

#[derive(Clone)]
struct Shop {
    rows: Arc<Mutex<Connection>>,
    client: reqwest::Client,
    charges: String,
}

pub(super) fn app(options: &CheckoutOptions) -> Result<Router, DemoError> {
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open(options.folder.join("plain.db"))?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(PRAGMAS)?;
        connection.execute(CREATE, [])?;
        Ok(connection)
    };
    let rows = open().map_err(DemoError::unsound("the table of the checkout"))?;
    let shop = Shop {
        rows: Arc::new(Mutex::new(rows)),
        client: outbound::client()?,
        charges: format!("{}/charges", options.provider),
    };
    Ok(Router::new()
        .route("/payments", post(pay))
        .route("/standing", get(async || Json(Standing::default())))
        .with_state(shop))
}

/// A request that was begun is carried on though its client has left, as on a thread of its own.
async fn pay(State(shop): State<Shop>, headers: HeaderMap, Json(order): Json<Order>) -> Response {
    let key = headers.get("idempotency-key").map(|key| key.as_bytes());
    let key = String::from_utf8_lossy(key.unwrap_or_default()).into_owned();
    let paid = tokio::spawn(async move { check_then_act(&shop, &key, &order).await });
    match paid.await {
        Ok(Ok(answer)) => (StatusCode::CREATED, Json(answer)).into_response(),
        Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, error).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn check_then_act(shop: &Shop, key: &str, order: &Order) -> Result<Value, String> {
    if let Some(answer) = shop.look(key).map_err(|error| error.to_string())? {
        return Ok(json!({ "state": "paid", "receipt": answer }));
    }
    let answer = charge(shop, order).await?;
    shop.keep(key, &answer).map_err(|error| error.to_string())?;
    Ok(json!({ "state": "paid", "receipt": answer }))
}

async fn charge(shop: &Shop, order: &Order) -> Result<String, String> {
    let mut last = String::new();
    for attempt in 0..PLAIN_TRIES {
        if attempt > 0 {
            tokio::time::sleep(PLAIN_PAUSE).await;
        }
        let request = shop.client.post(&shop.charges).json(order);
        let answer = async { request.send().await?.error_for_status()?.text().await };
        match tokio::time::timeout(PLAIN_TIMEOUT, answer).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = "the provider timed out".to_owned(),
        }
    }
    Err(last)
}

impl Shop {
    fn look(&self, key: &str) -> rusqlite::Result<Option<String>> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let found = rows.query_row(LOOK, [key], |row| row.get(0));
        found.optional()
    }

    fn keep(&self, key: &str, answer: &str) -> rusqlite::Result<()> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.execute(KEEP, params![key, answer]).map(drop)
    }
}
