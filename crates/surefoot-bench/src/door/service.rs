//! The service: `POST /payments` answers 201 with a small document. Bare, behind the front door, or with the front door's
//! writes done by hand. The handler itself does nothing, so that what stands around it is what is measured.

use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use surefoot::NodeClock;
use surefoot_core::id::{Tenant, Worker};
use surefoot_http::{Guard, GuardOptions, IdempotencyLayer, SingleTenant};
use surefoot_store::Ports;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::Outcome;
use crate::floor::request::RequestFloor;

/// What the handler answers: about 100 bytes.
const ANSWER: &str = r#"{"payment":"pay_01890a5dac96774bbcceb302099a8057","amount":1999,"currency":"EUR","state":"captured"}"#;
/// How long what is under way may take to be written down.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// A service that listens.
pub(crate) struct Running {
    pub(crate) address: std::net::SocketAddr,
    serving: JoinHandle<()>,
    guard: Option<Guard>,
}

impl Running {
    async fn start(router: Router, guard: Option<Guard>) -> Outcome<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            // It ends with the task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            address,
            serving,
            guard,
        })
    }

    /// Ends it, and waits until nothing of it is under way.
    pub(crate) async fn stop(self) -> Outcome<()> {
        self.serving.abort();
        let Some(guard) = self.guard else {
            return Ok(());
        };
        match guard.drain(DRAIN_MAX).await {
            0 => Ok(()),
            left => Err(format!("{left} requests were not written down in time").into()),
        }
    }
}

/// The handler and nothing else.
pub(crate) async fn bare() -> Outcome<Running> {
    Running::start(Router::new().route("/payments", post(pay)), None).await
}

/// Behind the front door, as a user sets it up.
pub(crate) async fn guarded(ports: &Ports) -> Outcome<Running> {
    let clock = NodeClock::followed(ports.store.clone()).await?;
    let options = GuardOptions::new(Worker::new("bench")?);
    let tenants = SingleTenant(Tenant::single());
    let guard = Guard::new(ports.requests.clone(), clock, tenants, options)?;
    let router = Router::new()
        .route("/payments", post(pay))
        .layer(IdempotencyLayer::new(guard.clone()));
    Running::start(router, Some(guard)).await
}

/// With the front door's writes by hand.
pub(crate) async fn by_hand(floor: RequestFloor) -> Outcome<Running> {
    let router = Router::new()
        .route("/payments", post(pay_by_hand))
        .with_state(floor);
    Running::start(router, None).await
}

/// It answers what is stored under the key.
pub(crate) async fn selecting(floor: RequestFloor) -> Outcome<Running> {
    let router = Router::new()
        .route("/payments", post(select))
        .with_state(floor);
    Running::start(router, None).await
}

async fn pay(_body: Bytes) -> Response {
    created(ANSWER)
}

async fn pay_by_hand(
    State(floor): State<RequestFloor>,
    headers: HeaderMap,
    _body: Bytes,
) -> Response {
    let Some(key) = key(&headers) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    match floor.claim(key.clone()).await {
        Ok(true) => {}
        Ok(false) => return StatusCode::CONFLICT.into_response(),
        Err(error) => return failed(&*error),
    }
    match floor.finish(key, ANSWER.as_bytes().to_vec()).await {
        Ok(()) => created(ANSWER),
        Err(error) => failed(&*error),
    }
}

async fn select(State(floor): State<RequestFloor>, headers: HeaderMap, _body: Bytes) -> Response {
    let Some(key) = key(&headers) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    match floor.stored(key).await {
        Ok(Some(body)) => created(body),
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(error) => failed(&*error),
    }
}

fn created<B>(body: B) -> Response
where
    (StatusCode, [(header::HeaderName, &'static str); 1], B): IntoResponse,
{
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::CREATED, json, body).into_response()
}

fn key(headers: &HeaderMap) -> Option<String> {
    let key = headers.get("idempotency-key")?;
    key.to_str().ok().map(str::to_owned)
}

fn failed(error: &(dyn std::error::Error + Send + Sync)) -> Response {
    eprintln!("the service by hand: {error}");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}
