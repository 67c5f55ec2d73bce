//! Accepts connections and serves them until told to stop; then lets requests end, and says what could not.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Proxy;
use crate::stall::StallGuard;

/// The most bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How long to wait after the system refused a connection, as it does when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How a proxy ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyDrained {
    /// Requests that were still being carried out: their outcome is unknown.
    pub unknown: usize,
    /// Connections that were cut off.
    pub cut_off: usize,
}

impl Proxy {
    /// Serves `listener` until `stop`, then lets what is under way end within the grace.
    ///
    /// Whether it may listen there is for [`Proxy::check_listen`] to say, before.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> ProxyDrained {
        let slots = Arc::new(Semaphore::new(self.options.connections_max));
        let graceful = GracefulShutdown::new();
        let connections = TaskTracker::new();
        let cut_off = CancellationToken::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = accept(&listener, &slots) => accepted,
            };
            let Some((stream, peer, slot)) = accepted else {
                break;
            };
            let proxy = self.clone();
            let service = service_fn(move |request: hyper::Request<Incoming>| {
                let proxy = proxy.clone();
                async move { Ok::<_, Infallible>(proxy.handle(incoming(request, peer)).await) }
            });
            let stream = TokioIo::new(StallGuard::new(stream, self.options.write_timeout));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.options.head_timeout)
                .max_buf_size(HEAD_BYTES_MAX)
                .serve_connection(stream, service);
            let watched = graceful.watch(connection);
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
        let until = Instant::now() + self.options.grace;
        let mut drained = ProxyDrained::default();
        if tokio::time::timeout_at(until, graceful.shutdown())
            .await
            .is_err()
        {
            drained.cut_off = connections.len();
            cut_off.cancel();
        }
        connections.close();
        connections.wait().await;
        drained.unknown = self
            .guard
            .drain(until.saturating_duration_since(Instant::now()))
            .await;
        drained
    }
}

fn incoming(request: hyper::Request<Incoming>, peer: SocketAddr) -> hyper::Request<Body> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "TCP_NODELAY was refused"
                    );
                }
                return Some((stream, peer, slot));
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
