//! The other end: an HTTP service that applies each message in one transaction with its receipt. It refuses some, loses
//! some answers, and applies some after the relay has given up waiting.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use surefoot::core::id::MessageId;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Said;
use super::base::Base;
use super::process::LEASE;

#[derive(Clone)]
struct Inbox {
    base: Arc<Base>,
    given: Arc<Mutex<Vec<Said>>>,
}

pub(super) struct Consumer {
    address: SocketAddr,
    inbox: Inbox,
    server: JoinHandle<()>,
}

impl Consumer {
    pub(super) async fn serve(base: Arc<Base>) -> Self {
        let inbox = Inbox {
            base,
            given: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().route("/{id}", post(accept));
        let app = routes.with_state(inbox.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            address,
            inbox,
            server,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// All that it was given, in this order, as often as it was given.
    pub(super) fn given(&self) -> Vec<Said> {
        self.inbox.given.lock().unwrap().clone()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn accept(
    State(inbox): State<Inbox>,
    Path(id): Path<String>,
    Json(said): Json<Said>,
) -> StatusCode {
    let id = MessageId::new(id).unwrap();
    inbox.given.lock().unwrap().push(said.clone());
    let late = match fastrand::u8(0..20) {
        0 => return StatusCode::SERVICE_UNAVAILABLE,
        1 => LEASE / 2,
        _ => Duration::ZERO,
    };
    // It ends what it began, whoever goes away meanwhile.
    let applying = tokio::spawn(async move {
        sleep(late).await;
        inbox.base.apply(id, said).await;
    });
    applying.await.unwrap();
    match fastrand::u8(0..20) {
        0 => StatusCode::BAD_GATEWAY,
        _ => StatusCode::NO_CONTENT,
    }
}
