//! A proxy that stands still: what others may have done again meanwhile does not leave when it goes on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::any;
use http::Request;
use http::Uri;
use surefoot_core::id::Worker;
use surefoot_core::time::Timestamp;
use surefoot_http::{Guard, GuardOptions, Proxy, ProxyOptions, SingleTenant};
use surefoot_testkit::{ManualClock, MemoryStore};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::fixture::tenant;
use crate::proxy::ask;

/// A service that takes no connection: its queue is full.
async fn crowded() -> (TcpListener, SocketAddr, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let at = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    let patience = Duration::from_millis(200);
    while let Ok(stream) = tokio::time::timeout(patience, TcpStream::connect(at)).await {
        queue.push(stream.unwrap());
    }
    (listener, at, queue)
}

/// It stood still while it connected, for longer than its lease: another node may have been told since that nothing happened,
/// and have run the request.
#[tokio::test]
async fn what_was_connecting_when_the_proxy_stood_still_is_not_sent_after_its_lease() {
    for body in ["{}", ""] {
        let (upstream, at, queue) = crowded().await;
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(
            1_700_000_000_000_000,
        )));
        let store = MemoryStore::new(clock.clone());
        let options = GuardOptions::new(Worker::new("node").unwrap());
        let tenants = SingleTenant(tenant("me"));
        let guard = Guard::new(Arc::new(store), clock.clone(), tenants, options).unwrap();
        let uri: Uri = format!("http://{at}").parse().unwrap();
        let options = ProxyOptions {
            connect_timeout: Duration::from_secs(20),
            ..ProxyOptions::default()
        };
        let proxy = Proxy::new(uri, guard, options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(proxy.serve(listener, CancellationToken::new()));
        let request = Request::post("/payments").header("idempotency-key", "k");
        let request = request.body(Body::from(body)).unwrap();
        let asked = tokio::spawn(ask(addr, request));
        tokio::time::sleep(Duration::from_millis(300)).await;
        clock.advance(Duration::from_secs(10 * 60));
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let service = Router::new().fallback(any(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async { "ran" }
        }));
        tokio::spawn(async move { axum::serve(upstream, service).await });
        drop(queue);
        let got = asked.await.unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 0, "{body:?} {got:?}");
        assert_eq!(got.header("idempotency-error"), Some("nothing-happened"));
    }
}
