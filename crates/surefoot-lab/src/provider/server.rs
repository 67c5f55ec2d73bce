//! The HTTP side: reads a call, lets it take effect, and does with the answer what the whim says.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;

use super::ledger::Kind;
use super::{Shared, Whim};

/// The most bytes of a body that are read.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long to wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// Where refunds are.
const REFUNDS: &str = "/refunds";
/// Where charges are; they cannot be looked up.
const CHARGES: &str = "/charges";

/// What a refund or a charge asks for.
#[derive(Deserialize)]
struct Asked {
    intent: String,
    amount: u64,
}

/// The connection is to be closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is dropped on purpose")]
struct Dropped;

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
) -> Result<Response<Full<Bytes>>, Dropped> {
    let path = request.uri().path().to_owned();
    if (request.method(), path.as_str()) == (&Method::POST, CHARGES) {
        return apply(shared, Kind::Charge, request).await;
    }
    let response = match (request.method(), path.strip_prefix(REFUNDS)) {
        (&Method::POST, Some("")) => return apply(shared, Kind::Refund, request).await,
        (&Method::GET, Some(key)) => match shared.ledger().look_up(key.trim_start_matches('/')) {
            Some(body) => response(StatusCode::OK, body),
            None => response(StatusCode::NOT_FOUND, String::new()),
        },
        (_, Some(_) | None) => response(StatusCode::NOT_FOUND, String::new()),
    };
    Ok(response)
}

async fn apply(
    shared: Shared,
    kind: Kind,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Dropped> {
    let key = request
        .headers()
        .get("idempotency-key")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX);
    // A call that did not arrive whole takes no effect.
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let Ok(asked) = serde_json::from_slice::<Asked>(&body) else {
        return Ok(response(StatusCode::BAD_REQUEST, String::new()));
    };
    let (number, body) = shared
        .ledger()
        .apply(kind, &asked.intent, asked.amount, key.as_deref());
    let whim = (shared.manners)(&asked.intent, number);
    if !whim.answers() {
        shared.ledger().leave_unanswered();
    }
    match whim {
        Whim::Answer(after) => tokio::time::sleep(after).await,
        Whim::Hold => held(&shared).await,
        Whim::Silent => std::future::pending::<()>().await,
        Whim::Drop(after) => {
            tokio::time::sleep(after).await;
            return Err(Dropped);
        }
    }
    Ok(response(StatusCode::OK, body))
}

/// Waits until answers are let go. A caller that goes away ends the wait, so what is counted is in flight.
async fn held(shared: &Shared) {
    struct Held<'a>(&'a Shared);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.ledger().let_go();
        }
    }
    shared.ledger().hold();
    let held = Held(shared);
    let mut released = shared.released.subscribe();
    // An error says that the provider is gone.
    let _ = released.wait_for(|released| *released).await;
    drop(held);
}

fn response(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
}
