//! What only shows on real connections: slow clients, shutdown, streams that end.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use serde_json::json;
use surefoot_server::{HEAD_BYTES_MAX, REQUESTS_MAX, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::harness::Api;

struct Served {
    at: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

async fn served(router: Router) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(serve(listener, router, shutdown.clone()));
    Served { at, shutdown, task }
}

impl Served {
    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn exchange(&self, text: &str) -> String {
        read_to_end(self.send(text).await).await
    }

    async fn stop(self) {
        self.shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(20), self.task)
            .await
            .expect("it stops")
            .unwrap();
    }
}

async fn read_to_end(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let _ = tokio::time::timeout(Duration::from_secs(120), read)
        .await
        .expect("the connection ends");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until `text` came.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let mut bytes = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut bytes)).await;
        let count = read
            .unwrap_or_else(|_| panic!("{text:?} did not come, but {seen:?}"))
            .unwrap();
        assert!(count > 0, "{text:?} did not come, but {seen:?}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    seen
}

#[tokio::test]
async fn a_job_is_handed_in_over_a_connection() {
    let api = Api::new();
    let served = served(api.router.clone()).await;
    let body = r#"{"kind":"mail","payload":9223372036854775807}"#;
    let answer = served
        .exchange(&format!(
            "POST /v1/jobs HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            served.at,
            body.len()
        ))
        .await;
    assert!(answer.starts_with("HTTP/1.1 202 Accepted\r\n"), "{answer}");
    assert!(
        answer.contains("\"payload\":9223372036854775807,"),
        "{answer}"
    );
    served.stop().await;
}

#[tokio::test]
async fn the_head_of_a_request_is_bounded() {
    let served = served(Api::new().router).await;
    let long = "x".repeat(4 * HEAD_BYTES_MAX);
    for (head, status) in [
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), "431"),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"),
            "431",
        ),
    ] {
        // The server hangs up on what it does not read, which may overtake its answer.
        let mut stream = TcpStream::connect(served.at).await.unwrap();
        let written = stream.write_all(head.as_bytes()).await;
        let mut answer = vec![0; 64];
        let count = stream.read(&mut answer).await.unwrap_or(0);
        let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
        let hung_up = answer.is_empty();
        assert!(
            hung_up || answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer} {written:?}"
        );
    }
    served.stop().await;
}

/// The runtime's clock is paused and runs ahead whenever nothing else can happen.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_ends_its_head_loses_its_connection() {
    let served = served(Api::new().router).await;
    let began = tokio::time::Instant::now();
    let stream = served.send("GET /healthz HTTP/1.1\r\nHost: 127.0").await;
    assert_eq!(read_to_end(stream).await, "");
    assert!(
        began.elapsed() <= Duration::from_secs(31),
        "{:?}",
        began.elapsed()
    );
    served.stop().await;
}

#[tokio::test]
async fn an_open_stream_ends_when_the_server_stops() {
    let api = Api::new();
    let served = served(api.router.clone()).await;
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let head = format!(
        "GET /v1/jobs/{id}/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        served.at
    );
    let mut stream = served.send(&head).await;
    read_until(&mut stream, "event: job\n").await;
    let api_claim = api.claim("mail").await;
    let seen = read_until(&mut stream, "\"state\":\"running\"").await;
    assert!(seen.contains("event: job\n"), "{seen} after {api_claim}");
    let began = std::time::Instant::now();
    served.stop().await;
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert!(
        read_to_end(stream).await.ends_with("0\r\n\r\n"),
        "the stream ended in good order"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_is_cut_off_after_the_grace() {
    let stuck = Router::new().route("/", get(std::future::pending::<()>));
    let served = served(stuck).await;
    let stream = served
        .send(&format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", served.at))
        .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let began = tokio::time::Instant::now();
    served.stop().await;
    assert_eq!(began.elapsed().as_secs(), surefoot_server::GRACE.as_secs());
    assert_eq!(read_to_end(stream).await, "");
}

#[tokio::test]
async fn a_request_that_runs_when_the_server_stops_is_answered() {
    let slow = get(|| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        "done"
    });
    let served = served(Router::new().route("/", slow)).await;
    let stream = served
        .send(&format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", served.at))
        .await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    served.stop().await;
    assert!(read_to_end(stream).await.ends_with("done"));
}

#[tokio::test]
async fn a_server_that_stops_takes_no_more_connections() {
    let served = served(Api::new().router).await;
    let at = served.at;
    served.stop().await;
    assert!(TcpStream::connect(at).await.is_err());
}

/// Bodies that are announced and never sent hold up nobody else, however many there are.
#[tokio::test]
async fn half_sent_bodies_do_not_keep_other_requests_waiting() {
    let served = served(Api::new().router).await;
    let half = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        served.at
    );
    let mut held = Vec::new();
    for _ in 0..REQUESTS_MAX + 8 {
        held.push(served.send(&half).await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let body = r#"{"kind":"mail"}"#;
    let handed_in = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        served.at,
        body.len()
    );
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", served.at);
    for (request, status) in [
        (ask("/v1/jobs"), "HTTP/1.1 200"),
        (ask("/metrics"), "HTTP/1.1 200"),
        (handed_in, "HTTP/1.1 202"),
    ] {
        let answered = async { read_until(&mut served.send(&request).await, status).await };
        let answered = tokio::time::timeout(Duration::from_secs(8), answered).await;
        assert!(answered.is_ok(), "no answer to {request}");
    }
    drop(held);
    served.stop().await;
}
