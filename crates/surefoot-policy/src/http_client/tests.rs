//! The client against a server of raw bytes on the loopback interface.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use surefoot_core::classify::Certainty;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::error::Kind;
use crate::retry::{BackoffOptions, Suppressed};
use crate::{Dependency, Policy};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const UNWELL: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
const CUT: &str = "";
const HALF: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nok";

struct Server {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each connection with the next text, the last one again and again, then keeps it open when
    /// `lingers`.
    async fn start(answers: &'static [&'static str], lingers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let keep = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                let answer = {
                    let mut seen = keep.lock().unwrap();
                    seen.push(request);
                    answers[(seen.len() - 1).min(answers.len() - 1)]
                };
                let _ = stream.write_all(answer.as_bytes()).await;
                if lingers {
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        drop(stream);
                    });
                }
            }
        });
        Self { address, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    fn request(&self, method: &str, body: Body) -> Request<Body> {
        Request::builder()
            .method(method)
            .uri(format!("http://{}/charges", self.address))
            .body(body)
            .unwrap()
    }
}

/// A request with its head and as much of its body as its length says.
async fn read(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if read == 0 {
                return text;
            }
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if read == 0 || body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

fn client(change: impl FnOnce(&mut Policy)) -> (HttpClient, Dependency) {
    let mut policy = Policy::default();
    policy.budget.enabled = false;
    policy.retry.backoff =
        BackoffOptions::exponential(Duration::from_millis(1), Duration::from_millis(2));
    policy.timeout.attempt = Duration::from_millis(500);
    policy.timeout.connect = Duration::from_millis(200);
    change(&mut policy);
    let dependency = Dependency::new("psp", policy).unwrap();
    (HttpClient::new(dependency.clone()), dependency)
}

async fn text(body: AnswerBody) -> Result<Bytes, BodyError> {
    body.collect()
        .await
        .map(http_body_util::Collected::to_bytes)
}

#[tokio::test]
async fn every_attempt_sends_the_whole_body_and_its_own_headers() {
    let server = Server::start(&[UNWELL, UNWELL, OK], false).await;
    let (client, dependency) = client(|_| {});
    let answer = client
        .send(server.request("POST", Body::from("amount=500")))
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(text(answer.into_body()).await.unwrap(), "ok");
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    for (index, request) in seen.iter().enumerate() {
        assert!(request.ends_with("\r\n\r\namount=500"), "{request}");
        assert!(
            request.contains(&format!("x-retry-attempt: {}\r\n", index + 1)),
            "{request}"
        );
        assert_eq!(request.matches("x-retry-owner").count(), 1);
        assert_eq!(request.matches("x-request-timeout-ms").count(), 1);
    }
    assert_eq!(dependency.status().out, 0);
}

#[tokio::test]
async fn a_streamed_body_is_sent_once_and_its_answer_given_back() {
    let server = Server::start(&[UNWELL, OK], false).await;
    let (client, _) = client(|_| {});
    let stream = Body::stream(Full::new(Bytes::from_static(b"amount=500")));
    let answer = client.send(server.request("PUT", stream)).await.unwrap();
    assert_eq!((answer.status().as_u16(), server.seen().len()), (503, 1));
}

#[tokio::test]
async fn a_payment_whose_connection_was_cut_is_not_sent_again_and_its_outcome_is_unknown() {
    let server = Server::start(&[CUT, OK], false).await;
    let (client, _) = client(|_| {});
    let error = client
        .send(server.request("POST", Body::from("amount=500")))
        .await
        .unwrap_err();
    assert_eq!(
        (error.certainty(), error.suppressed()),
        (Certainty::MaybeApplied, Some(Suppressed::NotRepeatable))
    );
    assert_eq!(server.seen().len(), 1);
    let answer = client
        .send(server.request("GET", Body::empty()))
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_payment_that_found_nobody_listening_was_not_sent_and_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (client, _) = client(|_| {});
    let request = Request::post(format!("http://{address}/charges"))
        .body(Body::from("amount=500"))
        .unwrap();
    let error = client.send(request).await.unwrap_err();
    assert_eq!(
        (error.certainty(), error.suppressed()),
        (Certainty::NotSent, Some(Suppressed::Attempts))
    );
    assert_eq!(error.attempts().len(), 3);
}

#[tokio::test]
async fn a_payment_that_hangs_is_ended_in_time_and_unknown() {
    let server = Server::start(&[CUT], true).await;
    let (client, _) = client(|_| {});
    let error = client
        .send(server.request("POST", Body::from("amount=500")))
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), Kind::TimedOut(_)));
    assert_eq!(
        (error.certainty(), server.seen().len()),
        (Certainty::MaybeApplied, 1)
    );
}

#[tokio::test]
async fn the_seat_and_the_deadline_follow_the_body_to_its_end() {
    let server = Server::start(&[HALF], true).await;
    let (client, dependency) = client(|policy| policy.timeout.total = Duration::from_millis(700));
    let answer = client
        .send(server.request("GET", Body::empty()))
        .await
        .unwrap();
    assert_eq!(
        (answer.status().as_u16(), dependency.status().out),
        (200, 1),
        "the body is still out"
    );
    let mut body = answer.into_body();
    let first = body.frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "ok");
    assert!(matches!(body.frame().await, Some(Err(BodyError::TimedOut))));
    assert_eq!(
        dependency.status().out,
        0,
        "given back at the end of the body, before it is dropped"
    );
    let whole = Server::start(&[OK], false).await;
    let answer = client
        .send(whole.request("GET", Body::empty()))
        .await
        .unwrap();
    drop(answer);
    assert_eq!(dependency.status().out, 0);
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_has_been_read_is_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut some = [0; 64];
        let _ = stream.read(&mut some).await;
        let _ = stream
            .write_all(b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno")
            .await;
        tokio::time::sleep(Duration::from_secs(30)).await;
    });
    let (client, dependency) = client(|_| {});
    let never = halting_body();
    let request = Request::put(format!("http://{address}/upload"))
        .body(Body::stream(never))
        .unwrap();
    let answer = client.send(request).await.unwrap();
    assert_eq!(answer.status(), 413);
    assert_eq!(text(answer.into_body()).await.unwrap(), "no");
    assert_eq!(dependency.status().out, 0);
}

/// A body whose first frame is there at once and whose second never comes.
fn halting_body()
-> impl http_body::Body<Data = Bytes, Error = std::io::Error> + Send + Sync + 'static {
    struct Halting(bool);
    impl http_body::Body for Halting {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
            if std::mem::replace(&mut self.0, true) {
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from_static(
                b"first",
            )))))
        }
    }
    Halting(false)
}

#[tokio::test]
async fn a_key_makes_a_request_repeatable_only_where_the_service_honours_it() {
    for (honoured, sends) in [(false, 1), (true, 2)] {
        let server = Server::start(&[CUT, OK], false).await;
        let (client, _) = client(|_| {});
        let client = if honoured {
            client.deduplicating()
        } else {
            client
        };
        let mut request = server.request("POST", Body::from("amount=500"));
        let key = http::HeaderValue::from_static("order-42");
        request.headers_mut().insert("idempotency-key", key);
        let answer = client.send(request).await;
        assert_eq!(answer.is_ok(), honoured);
        if let Err(error) = answer {
            assert_eq!(error.certainty(), Certainty::MaybeApplied);
        }
        assert_eq!(server.seen().len(), sends, "honoured: {honoured}");
    }
}
