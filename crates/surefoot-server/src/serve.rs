//! Accepts connections and serves them until told to stop. A client that sends or reads too slowly loses its
//! connection, and the end never takes longer than [`GRACE`].

use std::time::Duration;

use axum::extract::Request;
use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use surefoot_http::StallGuard;

/// The most connections that are open at once; further ones wait in the listener's backlog.
pub const CONNECTIONS_MAX: usize = 4096;
/// How long a client may take to send the head of a request, and how long a connection may be idle.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may leave what was written to it unread.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of the head of a request; what came with the last of them in one read is still taken.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long requests may go on after the server was told to stop.
pub const GRACE: Duration = Duration::from_secs(10);
/// How long to wait after the system refused a connection, as it does when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// That the server stops soon: long answers end.
#[derive(Clone, Debug)]
pub(crate) struct Stopping(pub(crate) CancellationToken);

/// Serves `router` on `listener` until `shutdown`, then lets requests end for at most [`GRACE`].
///
/// It ends early for no reason: an error of one connection is that connection's, and a listener that is refused
/// file descriptors tries again.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) {
    let router = router.layer(Extension(Stopping(shutdown.clone())));
    let slots = std::sync::Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let connections = TaskTracker::new();
    let cut_off = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let Some((stream, slot)) = accepted else {
            break;
        };
        let watched = graceful.watch(connection(stream, router.clone()));
        let cut_off = cut_off.clone();
        connections.spawn(async move {
            let _slot = slot;
            tokio::select! {
                () = cut_off.cancelled() => {}
                ended = watched => if let Err(error) = ended {
                    tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended with an error");
                },
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(GRACE, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(
            open = connections.len(),
            "connections are still open after the grace and are cut off"
        );
        cut_off.cancel();
    }
    connections.close();
    connections.wait().await;
}

/// The next connection and its slot; `None` never happens while the semaphore is open.
async fn accept(
    listener: &TcpListener,
    slots: &std::sync::Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "TCP_NODELAY was refused"
                    );
                }
                return Some((stream, slot));
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a connection could not be accepted"
                );
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

type Service =
    TowerToHyperService<tower::util::MapRequest<Router, fn(hyper::Request<Incoming>) -> Request>>;

fn connection(
    stream: TcpStream,
    router: Router,
) -> http1::Connection<TokioIo<StallGuard<TcpStream>>, Service> {
    let into_request: fn(hyper::Request<Incoming>) -> Request =
        |request| request.map(axum::body::Body::new);
    let service = TowerToHyperService::new(router.map_request(into_request));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(
            TokioIo::new(StallGuard::new(stream, WRITE_TIMEOUT)),
            service,
        )
}
