//! The gateway before the checkout. In act one it tries again by itself and does not notice that a client has left; in act two
//! it passes a request on once, for trying again is the customer's, under one key.

use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::any};
use bytes::Bytes;

use crate::act::Act;
use crate::error::DemoError;
use crate::listen::{Listening, listen};
use crate::outbound;
use crate::times::{CUSTOMER_TIMEOUT, GATEWAY_TIMEOUT, GATEWAY_TRIES, PLAIN_PAUSE};

/// What is passed on, there and back.
const PASSED: [&str; 6] = [
    "content-type",
    "idempotency-key",
    "idempotency-status",
    "idempotency-error",
    "location",
    "retry-after",
];

/// A running gateway.
pub(crate) struct Gateway {
    listening: Listening,
    checkout: Arc<RwLock<String>>,
}

#[derive(Clone)]
struct Shared {
    act: Act,
    checkout: Arc<RwLock<String>>,
    client: reqwest::Client,
}

impl Gateway {
    /// Before the checkout at `checkout`.
    pub(crate) async fn start(act: Act, checkout: &str) -> Result<Self, DemoError> {
        let checkout = Arc::new(RwLock::new(checkout.to_owned()));
        let shared = Shared {
            act,
            checkout: checkout.clone(),
            client: outbound::client()?,
        };
        let app = Router::new()
            .route("/{*path}", any(pass))
            .with_state(shared);
        let listening = listen(app).await?;
        Ok(Self {
            listening,
            checkout,
        })
    }

    pub(crate) fn url(&self) -> &str {
        self.listening.url()
    }

    /// The checkout is elsewhere from here on.
    pub(crate) fn point_at(&self, checkout: &str) {
        let mut place = self
            .checkout
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = checkout.to_owned();
    }
}

async fn pass(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = Passed {
        method,
        path: uri.path().to_owned(),
        headers: passed(&headers),
        body,
    };
    match shared.act {
        // As on a thread of its own: a client that leaves ends nothing.
        Act::Plain => tokio::spawn(async move { again_and_again(&shared, &request).await })
            .await
            .unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response()),
        Act::Guarded => {
            let sent = tokio::time::timeout(CUSTOMER_TIMEOUT, once(&shared, &request));
            sent.await.ok().flatten().unwrap_or_else(unreachable)
        }
    }
}

struct Passed {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

async fn again_and_again(shared: &Shared, request: &Passed) -> Response {
    for attempt in 0..GATEWAY_TRIES {
        if attempt > 0 {
            tokio::time::sleep(PLAIN_PAUSE).await;
        }
        let answer = tokio::time::timeout(GATEWAY_TIMEOUT, once(shared, request)).await;
        if let Ok(Some(answer)) = answer
            && !answer.status().is_server_error()
        {
            return answer;
        }
    }
    unreachable()
}

async fn once(shared: &Shared, request: &Passed) -> Option<Response> {
    let url = {
        let place = shared.checkout.read();
        let place = place.unwrap_or_else(PoisonError::into_inner);
        format!("{place}{}", request.path)
    };
    let sent = shared
        .client
        .request(request.method.clone(), url)
        .headers(request.headers.clone())
        .body(request.body.clone());
    let answer = sent.send().await.ok()?;
    let (status, headers) = (answer.status(), passed(answer.headers()));
    let body = answer.bytes().await.ok()?;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Some(response)
}

fn unreachable() -> Response {
    StatusCode::BAD_GATEWAY.into_response()
}

fn passed(headers: &HeaderMap) -> HeaderMap {
    let kept = headers
        .iter()
        .filter(|(name, _)| PASSED.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
