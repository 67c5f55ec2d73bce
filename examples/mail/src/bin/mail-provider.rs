//! A stand-in for a mail provider: it sends whatever it is given, however often, and misbehaves by a script. `POST /script`
//! with `["silent", "hang", "503", "ok"]` says what the next messages meet: `silent` are sent and never answered. `GET /sent`
//! lists what was sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The longest that a call is left without an answer.
const HANG: Duration = Duration::from_secs(600);
/// The most acts of a script, and the most messages that are sent.
const KEPT_MAX: usize = 1000;

#[derive(Clone, Deserialize, Serialize)]
struct Mail {
    reference: String,
    to: String,
    subject: String,
}

#[derive(Default)]
struct Desk {
    acts: VecDeque<String>,
    calls: u32,
    sent: Vec<Mail>,
}

type Shared = Arc<Mutex<Desk>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::var("PROVIDER_LISTEN").unwrap_or_else(|_| "127.0.0.1:8090".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!(
        "{}",
        json!({ "listen": format!("http://{}", listener.local_addr()?) })
    );
    let routes = Router::new()
        .route("/messages", post(take))
        .route("/messages/{reference}", get(find))
        .route("/script", post(script))
        .route("/sent", get(sent))
        .with_state(Shared::default());
    axum::serve(listener, routes).await?;
    Ok(())
}

async fn take(State(desk): State<Shared>, Json(mail): Json<Mail>) -> Response {
    let act = with(&desk, |desk| {
        desk.calls += 1;
        desk.acts.pop_front()
    });
    match act.as_deref() {
        Some("503") => (StatusCode::SERVICE_UNAVAILABLE, "overloaded").into_response(),
        Some("422") => (StatusCode::UNPROCESSABLE_ENTITY, "no such mailbox").into_response(),
        Some("hang") => hang().await,
        Some("silent") => {
            with(&desk, |desk| desk.send(mail));
            hang().await
        }
        _ => with(&desk, |desk| receipt(desk.send(mail))),
    }
}

impl Desk {
    /// Sends, and says the number of the message.
    fn send(&mut self, mail: Mail) -> usize {
        if self.sent.len() < KEPT_MAX {
            self.sent.push(mail);
        }
        self.sent.len()
    }
}

async fn hang() -> Response {
    tokio::time::sleep(HANG).await;
    StatusCode::GATEWAY_TIMEOUT.into_response()
}

fn receipt(number: usize) -> Response {
    Json(json!({ "provider_message_id": format!("pm-{number}") })).into_response()
}

async fn find(State(desk): State<Shared>, Path(reference): Path<String>) -> Response {
    let place = with(&desk, |desk| {
        desk.sent
            .iter()
            .position(|mail| mail.reference == reference)
    });
    match place {
        Some(place) => receipt(place + 1),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn script(State(desk): State<Shared>, Json(acts): Json<Vec<String>>) -> StatusCode {
    with(&desk, |desk| {
        desk.acts = acts.into_iter().take(KEPT_MAX).collect()
    });
    StatusCode::NO_CONTENT
}

async fn sent(State(desk): State<Shared>) -> Response {
    with(&desk, |desk| {
        Json(json!({ "calls": desk.calls, "sent": desk.sent })).into_response()
    })
}

fn with<T>(desk: &Shared, visit: impl FnOnce(&mut Desk) -> T) -> T {
    visit(&mut desk.lock().unwrap_or_else(PoisonError::into_inner))
}
