//! Whole calls against a service made of raw sockets, which answers or breaks exactly as the test says.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use surefoot::{Cx, Handler};
use surefoot_core::classify::{Certainty, Class};
use surefoot_core::failure::Failure;
use surefoot_core::id::{DependencyName, Epoch, JobId, Kind, Queue, Tenant, Worker};
use surefoot_core::job::{Counts, Job, LeasedJob, Run, TraceContext};
use surefoot_core::payload::Payload;
use surefoot_core::time::Timestamp;
use surefoot_policy::Policy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::{Clients, HttpKind};
use crate::config::{CallRecovery, Dependency, Request};

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const SAME_KEY: CallRecovery = CallRecovery::SameKey { ttl: None };
const RECOVERIES: [CallRecovery; 3] =
    [SAME_KEY, CallRecovery::AtMostOnce, CallRecovery::Repeatable];

fn leased() -> LeasedJob {
    Job {
        id: JobId::new(Timestamp::from_micros(0), [7; 10]),
        tenant: Tenant::single(),
        kind: Kind::new("send_mail").unwrap(),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        revision: 0,
        generation: 1,
        trace: TraceContext::parse(CALLER),
        enqueued_at: Timestamp::from_micros(0),
        deadline_at: None,
        counts: Counts {
            starts: 3,
            ..Counts::default()
        },
        state: Run {
            epoch: Epoch(3),
            worker: Worker::new("test").unwrap(),
            started_at: Timestamp::from_micros(0),
            lease_until: Timestamp::MAX,
            recovery: None,
            cancel_requested: false,
        },
    }
}

fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.timeout.connect = Duration::from_millis(200);
    policy.timeout.attempt = Duration::from_millis(600);
    policy.retry.attempts_max = 1;
    policy
}

fn kind(base_url: &str, recovery: CallRecovery) -> HttpKind {
    kind_under(base_url, recovery, policy())
}

fn kind_under(base_url: &str, recovery: CallRecovery, policy: Policy) -> HttpKind {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer x".parse().unwrap());
    let dependency = Dependency {
        name: DependencyName::new("mail").unwrap(),
        base_url: base_url.to_owned(),
        policy: policy.clone(),
        headers,
        waivers: Vec::new(),
    };
    super::choose_tls();
    let client = Clients::default().client(&dependency, &recovery).unwrap();
    let live = surefoot_policy::Dependency::new("mail", policy).unwrap();
    let request = Request {
        dependency: Arc::new(dependency),
        method: Method::POST,
        path: "/send".to_owned(),
        headers: HeaderMap::new(),
        recovery,
        call_max: Duration::from_secs(20),
    };
    HttpKind::new(client, live, request)
}

async fn run(kind: &HttpKind) -> Result<Payload, Failure> {
    let cx = Cx::standalone(&leased(), Duration::from_secs(30));
    kind.run(cx, Payload::parse(r#"{"to":"a"}"#).unwrap()).await
}

/// A service that reads each request whole and then does what the test says with the connection.
struct Service {
    base_url: String,
    requests: mpsc::UnboundedReceiver<String>,
}

/// What a service does after it read a request.
#[derive(Clone, Copy)]
enum Then {
    Answer(&'static str),
    AnswerAndClose(&'static str),
    Hang,
    Close,
    Reset,
}

async fn service(then: Then) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, then, sender.clone()));
        }
    });
    Service { base_url, requests }
}

async fn serve(mut stream: TcpStream, then: Then, sender: mpsc::UnboundedSender<String>) {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        if !text.ends_with(r#"{"to":"a"}"#) {
            continue;
        }
        sender.send(std::mem::take(&mut text)).unwrap();
        match then {
            Then::Answer(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
            Then::AnswerAndClose(answer) => {
                return stream.write_all(answer.as_bytes()).await.unwrap();
            }
            Then::Hang => std::future::pending().await,
            Then::Close => return,
            Then::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
}

#[tokio::test]
async fn the_payload_is_the_body_and_the_headers_go_along() {
    let mut service = service(Then::Answer(
        "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"id\":1}",
    ))
    .await;
    let result = run(&kind(&service.base_url, SAME_KEY)).await.unwrap();
    assert_eq!(result.as_str(), r#"{"id":1}"#);

    let request = service.requests.recv().await.unwrap();
    let lines: Vec<&str> = request.split("\r\n").collect();
    assert_eq!(lines[0], "POST /send HTTP/1.1");
    assert_eq!(*lines.last().unwrap(), r#"{"to":"a"}"#);
    for header in [
        "content-type: application/json",
        "authorization: Bearer x",
        "idempotency-key: 00000000-0000-7707-8707-070707070707",
        "x-surefoot-attempt: 3",
    ] {
        assert!(lines.contains(&header), "{header} is missing in {request}");
    }
    let traceparent = lines
        .iter()
        .find_map(|line| line.strip_prefix("traceparent: "))
        .unwrap();
    assert!(TraceContext::parse(traceparent).is_some(), "{traceparent}");
    assert_eq!(traceparent[..36], CALLER[..36]);
    assert_ne!(traceparent[36..52], CALLER[36..52]);
}

#[tokio::test]
async fn what_may_have_been_applied_is_unknown_and_sent_once() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{";
    let table = [
        (
            Then::Hang,
            "mail: no answer within 600ms (attempt time-out fired); the call may have been applied",
        ),
        (
            Then::Answer(head),
            "mail: no answer within 600ms (attempt time-out fired); the call may have been applied",
        ),
        (
            Then::AnswerAndClose(head),
            "mail: the connection broke before the answer was complete; the call may have been applied: ",
        ),
        (
            Then::Close,
            "mail: the connection broke before the answer was complete; the call may have been applied: ",
        ),
        (
            Then::Reset,
            "mail: the connection broke before the answer was complete; the call may have been applied: ",
        ),
    ];
    for (then, expected) in table {
        for recovery in RECOVERIES {
            let mut service = service(then).await;
            let failure = run(&kind(&service.base_url, recovery.clone()))
                .await
                .unwrap_err();
            assert_eq!(failure.class, Class::Unknown, "{failure:?}");
            assert!(failure.text.as_str().starts_with(expected), "{failure:?}");
            service.requests.recv().await.unwrap();
            assert!(service.requests.try_recv().is_err(), "it was sent again");
        }
    }
}

#[tokio::test]
async fn a_call_that_never_left_is_tried_again() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let failure = run(&kind(
        &format!("http://{address}"),
        CallRecovery::AtMostOnce,
    ))
    .await
    .unwrap_err();
    assert_eq!(failure.class, Class::Transient);
    assert!(
        failure
            .text
            .as_str()
            .starts_with("mail: no connection; nothing was sent: "),
        "{failure:?}"
    );

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let failure = run(&kind(
        &format!("https://{address}"),
        CallRecovery::AtMostOnce,
    ))
    .await
    .unwrap_err();
    assert_eq!(failure.class, Class::Transient);
    let expected = "mail: no connection within 200ms (connect time-out fired); nothing was sent";
    assert_eq!(failure.text.as_str(), expected);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut service = service(Then::Answer(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n",
    ))
    .await;
    let failure = run(&kind(&service.base_url, SAME_KEY)).await.unwrap_err();
    assert_eq!(failure.class, Class::Permanent);
    assert_eq!(
        failure.text.as_str(),
        "mail answered 307 Temporary Redirect; redirects are not followed"
    );
    service.requests.recv().await.unwrap();
    assert!(service.requests.try_recv().is_err());
}

#[tokio::test]
async fn connections_are_kept_except_where_a_second_call_is_forbidden() {
    let answer = "HTTP/1.1 204 No Content\r\n\r\n";
    for (recovery, expected) in [
        (SAME_KEY, 1),
        (CallRecovery::Repeatable, 1),
        (CallRecovery::AtMostOnce, 3),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let kind = kind(
            &format!("http://{}", listener.local_addr().unwrap()),
            recovery.clone(),
        );
        let (sender, _requests) = mpsc::unbounded_channel();
        let (count, mut connections) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.send(()).unwrap();
                tokio::spawn(serve(stream, Then::Answer(answer), sender.clone()));
            }
        });
        for _ in 0..3 {
            assert_eq!(run(&kind).await.unwrap().as_str(), "null");
        }
        let mut connected = 0;
        while connections.try_recv().is_ok() {
            connected += 1;
        }
        assert_eq!(connected, expected, "{recovery:?}");
    }
}

/// Runs one attempt of its own job, whose key nobody has seen.
async fn run_for(kind: &HttpKind, seed: u8) -> Result<Payload, Failure> {
    let job = LeasedJob {
        id: JobId::new(Timestamp::from_micros(0), [seed; 10]),
        ..leased()
    };
    let cx = Cx::standalone(&job, Duration::from_secs(30));
    kind.run(cx, Payload::parse(r#"{"to":"a"}"#).unwrap()).await
}

#[tokio::test]
async fn an_open_breaker_puts_jobs_off_and_nothing_is_sent() {
    let mut service = service(Then::Answer("HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n")).await;
    let mut policy = policy();
    policy.breaker.consecutive_failures = 3;
    let kind = kind_under(&service.base_url, CallRecovery::AtMostOnce, policy);
    for seed in 0..3 {
        let failure = run_for(&kind, seed).await.unwrap_err();
        assert!(!failure.put_off, "{failure:?}");
        service.requests.recv().await.unwrap();
    }
    let failure = run_for(&kind, 9).await.unwrap_err();
    assert!(failure.put_off, "{failure:?}");
    assert_eq!(failure.certainty(), Certainty::NotSent);
    assert_eq!(
        failure.text.as_str(),
        "mail: not called, nothing was sent: breaker_open"
    );
    let wait = failure.retry_after.unwrap();
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(6)).contains(&wait),
        "{wait:?}"
    );
    assert!(service.requests.try_recv().is_err(), "it was sent");
}

#[tokio::test]
async fn what_one_job_is_told_to_wait_holds_for_all() {
    let answer = "HTTP/1.1 429 x\r\nretry-after: 37\r\ncontent-length: 0\r\n\r\n";
    let mut limited = service(Then::Answer(answer)).await;
    let kind_limited = kind(&limited.base_url, SAME_KEY);
    for seed in 0..2 {
        let failure = run_for(&kind_limited, seed).await.unwrap_err();
        assert!(failure.put_off, "{failure:?}");
        assert!(failure.retry_after.unwrap() > Duration::from_secs(36));
    }
    limited.requests.recv().await.unwrap();
    assert!(limited.requests.try_recv().is_err(), "the gate is closed");

    // A conflict about one key says nothing about others.
    let answer = "HTTP/1.1 409 x\r\nretry-after: 37\r\ncontent-length: 0\r\n\r\n";
    let mut busy = service(Then::Answer(answer)).await;
    let kind_busy = kind(&busy.base_url, SAME_KEY);
    for seed in 0..2 {
        assert!(run_for(&kind_busy, seed).await.unwrap_err().put_off);
        busy.requests.recv().await.unwrap();
    }
}

#[tokio::test]
async fn the_job_is_the_one_that_retries_unless_the_policy_does() {
    let answer = "HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n";
    let mut service = service(Then::Answer(answer)).await;
    let failure = run(&kind(&service.base_url, SAME_KEY)).await.unwrap_err();
    assert_eq!(
        failure.text.as_str(),
        "mail answered 503 Service Unavailable"
    );
    let sent = service.requests.recv().await.unwrap();
    for header in ["x-retry-owner: mail", "x-retry-attempt: 3"] {
        assert!(sent.contains(header), "{header} is missing in {sent}");
    }
    let left = sent
        .lines()
        .find_map(|line| line.strip_prefix("x-request-timeout-ms: "));
    assert!(
        (1..=600).contains(&left.unwrap().parse::<u32>().unwrap()),
        "{left:?}"
    );
    assert!(service.requests.try_recv().is_err(), "it was sent again");

    let mut policy = policy();
    policy.retry.attempts_max = 3;
    policy.budget.enabled = false;
    let kind = kind_under(&service.base_url, SAME_KEY, policy);
    let failure = run(&kind).await.unwrap_err();
    let text = failure.text.as_str();
    for part in [
        "mail answered 503 Service Unavailable (sends: 1 failed after ",
        ", rejected, 2 failed after ",
        ", rejected, 3 failed after ",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    for number in 1..=3 {
        let sent = service.requests.recv().await.unwrap();
        let header = format!("x-retry-attempt: {number}\r\n");
        assert!(sent.contains(&header), "{header} is missing in {sent}");
        assert!(sent.contains("idempotency-key: 00000000-0000-7707-8707-070707070707"));
    }
    assert!(service.requests.try_recv().is_err(), "it was sent again");
}

#[tokio::test]
async fn a_spent_budget_puts_a_job_off_where_nothing_happened() {
    let mut service = service(Then::Answer("HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n")).await;
    let mut policy = policy();
    policy.retry.attempts_max = 2;
    policy.budget.reserve_per_second = 0.0;
    let kind = kind_under(&service.base_url, CallRecovery::AtMostOnce, policy);
    let failure = run(&kind).await.unwrap_err();
    assert!(failure.put_off, "{failure:?}");
    assert!(
        failure
            .text
            .as_str()
            .ends_with("; no further send: budget)"),
        "{failure:?}"
    );
    service.requests.recv().await.unwrap();
    assert!(service.requests.try_recv().is_err());
}
