//! HTTP on the loopback, for the small services of the experiments: one listener, one function that answers. It must never
//! be reachable from another machine.

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::error::LabError;

/// The most bytes of a body that are read.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long to wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A status and a body.
pub(crate) type Answer = (StatusCode, Value);

/// A listener on a free port.
pub(crate) async fn listen() -> Result<(TcpListener, SocketAddr), LabError> {
    let failed = || LabError::io("listen on the loopback");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(failed())?;
    let address = listener.local_addr().map_err(failed())?;
    Ok((listener, address))
}

/// Answers every request, until it is dropped.
pub(crate) async fn serve<F, A>(listener: TcpListener, answer: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answered = answer(request);
                async move { Ok::<_, Infallible>(response(answered.await)) }
            });
            // A connection that breaks is its caller's to notice.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// The body as a value; `None` when it did not arrive whole, is too long or is something else.
pub(crate) async fn read<T: DeserializeOwned>(request: Request<Incoming>) -> Option<T> {
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX);
    let body = body.collect().await.ok()?.to_bytes();
    serde_json::from_slice(&body).ok()
}

fn response((status, body): Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let json = hyper::header::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, json);
    response
}
