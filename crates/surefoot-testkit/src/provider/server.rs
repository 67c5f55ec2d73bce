//! The HTTP side: reads a call, asks the ledger what it meets, and does that.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use super::wire::{Lines, Wire};
use super::{Act, Answer, Received, Shared};

/// The most bytes of a body that are read: 8 MiB.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(super) async fn serve(listener: TcpListener, shared: Shared) {
    let closed = shared.clone();
    let routes = Router::new()
        .route("/applied/{*key}", get(applied))
        .route("/effects/{*key}", get(effect))
        .route("/outcome", get(outcome))
        .fallback(call)
        .with_state(shared);
    let server = axum::serve(
        Lines(listener),
        routes.into_make_service_with_connect_info::<Wire>(),
    );
    tokio::select! {
        // A listener that failed is seen by every caller as a refused connection.
        _ = server.into_future() => {}
        () = closed.closed() => {}
    }
}

async fn applied(State(shared): State<Shared>, Path(key): Path<String>) -> Response {
    let seen = shared.ledger().seen(&key);
    let body = serde_json::json!({ "key": key, "calls": seen.calls, "applied": seen.applied });
    response(Answer::new(200, body.to_string()))
}

async fn effect(State(shared): State<Shared>, Path(key): Path<String>) -> Response {
    match shared.ledger().effect(&key) {
        Some(answer) => response(Answer::new(200, answer.body.clone())),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// What a service answers that is asked what became of a request: the answer of its effect, or that there is none.
async fn outcome(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let (asked, ledger) = (text(&headers, "idempotency-key"), shared.ledger());
    // An RFC 8941 string, or the bare key.
    let key = asked.map(|key| key.trim_matches('"').to_owned());
    let Some(key) = key.filter(|_| ledger.witnesses) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let (word, mut answer) = match ledger.effect(&key) {
        Some(answer) => ("happened", response(answer.clone())),
        None => (
            "nothing-happened",
            response(Answer::new(200, String::new())),
        ),
    };
    let headers = answer.headers_mut();
    headers.insert("surefoot-outcome", HeaderValue::from_static(word));
    answer
}

async fn call(
    State(shared): State<Shared>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
) -> Response {
    if request.method() == Method::GET {
        return StatusCode::NOT_FOUND.into_response();
    }
    if *shared.closing.borrow() {
        wire.reset();
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, BODY_BYTES_MAX).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let received = Received {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        key: text(&parts.headers, "idempotency-key"),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect(),
        body: String::from_utf8_lossy(&bytes).into_owned(),
    };
    let key = received.key.clone();
    let act = shared.ledger().receive(received);
    // On a task of its own: a caller that goes away does not undo what it asked for.
    let meeting = tokio::spawn(async move { meet(shared, wire, key, act).await });
    meeting
        .await
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

async fn meet(shared: Shared, wire: Wire, key: Option<String>, act: Act) -> Response {
    let apply = |answer| response(shared.ledger().apply(key.as_deref(), answer));
    match act {
        Act::Apply => apply(None),
        Act::ApplyAnswering(answer) => apply(Some(answer)),
        Act::Refuse(answer) => response(answer),
        Act::Hang => hang(&shared, &wire).await,
        Act::ApplyThenHang => {
            apply(None);
            hang(&shared, &wire).await
        }
        Act::Reset => {
            wire.reset();
            StatusCode::OK.into_response()
        }
        Act::ApplyThenReset => {
            wire.reset();
            apply(None)
        }
        Act::ApplyThenCut => {
            wire.cut();
            apply(None)
        }
        Act::AnswerLate(wait) => {
            let answer = apply(None);
            tokio::time::sleep(wait).await;
            answer
        }
        Act::ApplyLate(wait) => {
            tokio::time::sleep(wait).await;
            apply(None)
        }
    }
}

/// Answers only when the provider is gone, and then by a reset.
async fn hang(shared: &Shared, wire: &Wire) -> Response {
    shared.closed().await;
    wire.reset();
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn response(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(value) = answer
        .retry_after
        .and_then(|value| HeaderValue::from_str(&value).ok())
    {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}
