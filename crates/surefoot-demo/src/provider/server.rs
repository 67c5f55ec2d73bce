//! The HTTP side: reads a call, lets it take effect, and does with the answer what the whim says.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;

use super::{Shared, Whim};
use crate::times::BREAKS_AFTER;

/// The most bytes of a body that are read.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long to wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// Where charges are.
const CHARGES: &str = "/charges";

/// What a charge asks for.
#[derive(Deserialize)]
struct Charge {
    order: String,
}

/// The connection is to be closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is broken on purpose")]
struct Broken;

pub(super) async fn serve(listener: std::net::TcpListener, shared: Shared) {
    // It cannot fail for a listener that does not block; if it did, every call would see a refused connection.
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // What is closed is reset: the caller reads an error and no end.
        let _ = stream.set_zero_linger();
        let shared = shared.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(shared.clone(), request));
            // A connection that breaks is its caller's to notice.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    shared: Shared,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Broken> {
    let path = request.uri().path().to_owned();
    let response = match (request.method(), path.strip_prefix(CHARGES)) {
        (&Method::POST, Some("")) => return charge(shared, request).await,
        (&Method::GET, Some(key)) => match shared.ledger().look_up(key.trim_start_matches('/')) {
            Some(body) => response(StatusCode::OK, body),
            None => response(StatusCode::NOT_FOUND, String::new()),
        },
        (_, Some(_) | None) => response(StatusCode::NOT_FOUND, String::new()),
    };
    Ok(response)
}

async fn charge(
    shared: Shared,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Broken> {
    let key = request
        .headers()
        .get("idempotency-key")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX);
    // A call that did not arrive whole takes no effect.
    let body = body.collect().await.map_err(|_| Broken)?.to_bytes();
    let Ok(Charge { order }) = serde_json::from_slice(&body) else {
        return Ok(response(StatusCode::BAD_REQUEST, String::new()));
    };
    let number = shared.ledger().arrived(&order);
    let body = match (shared.manners)(&order, number) {
        Whim::Answer(after) => {
            let body = shared.ledger().charge(&order, key.as_deref());
            tokio::time::sleep(after).await;
            body
        }
        Whim::Slow {
            applies_after,
            answers_after,
        } => {
            // In a task of its own: it takes effect although its caller has left.
            let applied = tokio::spawn(async move {
                tokio::time::sleep(applies_after).await;
                shared.ledger().charge(&order, key.as_deref())
            });
            tokio::time::sleep(answers_after).await;
            applied.await.map_err(|_| Broken)?
        }
        Whim::Reset => {
            tokio::time::sleep(BREAKS_AFTER).await;
            return Err(Broken);
        }
        Whim::Drop => {
            shared.ledger().charge(&order, key.as_deref());
            tokio::time::sleep(BREAKS_AFTER).await;
            return Err(Broken);
        }
    };
    Ok(response(StatusCode::OK, body))
}

fn response(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
}
