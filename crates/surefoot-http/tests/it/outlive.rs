//! Handlers that outlive their clients, their leases or themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use http::Response;
use surefoot_core::request::{Clocks, RequestPolicy, RequestState};
use surefoot_http::RoutePolicy;
use surefoot_testkit::{Fault, Verb};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use crate::fixture::{Front, answer, front, got, post, seconds};

fn running(lease: u64, run_max: u64) -> RoutePolicy {
    RoutePolicy {
        request: RequestPolicy {
            clocks: Clocks {
                lease: seconds(lease),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        run_max: seconds(run_max),
        ..RoutePolicy::default()
    }
}

fn slow(policy: RoutePolicy, takes: u64) -> Front {
    front(policy, move |_| async move {
        tokio::time::sleep(seconds(takes)).await;
        answer(201, "done")
    })
}

/// The client goes away at each moment of the exchange; what began is carried out once and on record.
#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_ends_nothing() {
    for polls in 0..12 {
        let front = slow(RoutePolicy::default(), 2);
        let mut asking = Box::pin(front.app.clone().oneshot(post("k", "{}")));
        for _ in 0..polls {
            let mut once = std::pin::pin!(tokio::task::yield_now());
            tokio::select! {
                biased;
                _ = &mut asking => {}
                () = &mut once => {}
            }
        }
        drop(asking);
        assert_eq!(front.guard.drain(seconds(100)).await, 0);
        let again = front.ask(post("k", "{}")).await;
        assert_eq!(again.status, 201, "after {polls} polls");
        assert_eq!(front.ran(), 1, "after {polls} polls");
    }
}

/// The same over a real connection, which hyper drops with its handler.
#[tokio::test]
async fn a_connection_that_breaks_ends_nothing() {
    let ended = Arc::new(AtomicBool::new(false));
    let told = ended.clone();
    let front = front(RoutePolicy::default(), move |_| {
        let told = told.clone();
        async move {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            told.store(true, Ordering::SeqCst);
            answer(201, "done")
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let app = front.app.clone();
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let mut client = TcpStream::connect(addr).await.unwrap();
    let head =
        "POST /payments HTTP/1.1\r\nhost: x\r\nidempotency-key: k\r\ncontent-length: 2\r\n\r\n{}";
    client.write_all(head.as_bytes()).await.unwrap();
    while front.ran() == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    drop(client);
    while front.guard.under_way() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(ended.load(Ordering::SeqCst));
    let mut again = TcpStream::connect(addr).await.unwrap();
    let head = head.replace("host: x", "host: x\r\nconnection: close");
    again.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    again.read_to_string(&mut text).await.unwrap();
    assert!(
        text.contains("idempotency-status: replayed") && text.ends_with("done"),
        "{text}"
    );
    assert_eq!(front.ran(), 1);
    serving.abort();
}

/// The answer of the store came when the lease was over: others may have been told by then that nothing happened.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_heard_after_its_lease_does_not_run() {
    let front = slow(running(2, 60), 0);
    front.faults.next(Verb::Begin, Fault::Late(seconds(3)));
    let late = front.ask(post("k", "{}")).await;
    assert_eq!(late.marks(), (503, None, Some("store-unavailable")));
    assert_eq!(front.ran(), 0);
    let again = front.ask(post("k", "{}")).await;
    assert_eq!(again.marks(), (201, Some("executed"), None));
    assert_eq!(front.ran(), 1);
}

/// A run that may go on for no whole number of beats: this node says the same as the others from the end of its lease on.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_over_is_told_as_such_on_its_own_node() {
    let front = slow(running(60, 90), 120);
    let first = tokio::spawn({
        let front = front.clone();
        async move { front.post("k").await }
    });
    tokio::time::sleep(seconds(91)).await;
    let again = front.post("k").await;
    assert_eq!(again.marks(), (409, None, Some("outcome-unknown")));
    assert!(first.is_finished(), "its client is told too");
    assert_eq!(front.guard.drain(seconds(60)).await, 0);
    let again = front.post("k").await;
    assert_eq!(again.marks(), (201, Some("replayed"), None));
}

/// From that moment on others act on the word that it did not happen.
#[tokio::test(start_paused = true)]
async fn a_handler_is_stopped_when_its_effects_must_have_settled() {
    let acted = Arc::new(AtomicBool::new(false));
    let told = acted.clone();
    let front = front(running(6, 7), move |_| {
        let told = told.clone();
        async move {
            // The lease ends after 7 s, which is missed until the store is given up; its effects settle within 60 s.
            tokio::time::sleep(std::time::Duration::from_millis(67_500)).await;
            told.store(true, Ordering::SeqCst);
            answer(201, "done")
        }
    });
    for beat in [0, 0, 10] {
        let slow = Fault::Delay(seconds(beat));
        front.faults.next(Verb::WriteRequest, slow);
    }
    let got = front.ask(post("k", "{}")).await;
    assert_eq!(got.marks(), (409, None, Some("outcome-unknown")));
    assert_eq!(front.guard.drain(seconds(100)).await, 0);
    assert!(!acted.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_leaves_an_unknown_outcome() {
    let front = front(RoutePolicy::default(), |_| async {
        tokio::task::yield_now().await;
        panic!("in the middle");
    });
    for _ in 0..3 {
        let got = front.ask(post("k", "{}")).await;
        assert_eq!(got.marks(), (409, None, Some("outcome-unknown")));
    }
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_keeps_its_lease_while_it_is_at_work() {
    let front = slow(running(10, 300), 100);
    let first = tokio::spawn(front.app.clone().oneshot(post("k", "{}")));
    for _ in 0..9 {
        tokio::time::sleep(seconds(11)).await;
        let got = front.ask(post("k", "{}")).await;
        assert_eq!(got.marks(), (409, None, Some("outstanding")));
    }
    let first = got(first.await.unwrap().unwrap()).await;
    assert_eq!(first.marks(), (201, Some("executed"), None));
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_beyond_its_lease_is_unknown_and_not_run_again_and_its_word_counts_at_last() {
    let front = slow(running(10, 30), 85);
    let first = tokio::spawn(front.app.clone().oneshot(post("k", "{}")));
    tokio::time::sleep(seconds(29)).await;
    assert_eq!(
        front.ask(post("k", "{}")).await.header("idempotency-error"),
        Some("outstanding")
    );
    tokio::time::sleep(seconds(2)).await;
    let first = got(first.await.unwrap().unwrap()).await;
    assert_eq!(first.marks(), (409, None, Some("outcome-unknown")));
    for _ in 0..5 {
        let other = front.ask(post("k", "{}")).await;
        assert_eq!(other.marks(), (409, None, Some("outcome-unknown")));
        tokio::time::sleep(seconds(10)).await;
    }
    tokio::time::sleep(seconds(50)).await;
    let other = front.ask(post("k", "{}")).await;
    assert_eq!(
        (other.marks(), &other.body[..]),
        ((201, Some("replayed"), None), &b"done"[..])
    );
    assert_eq!(front.ran(), 1);
}

/// Once its effects have settled others act on what a witness says, so it must not go on.
#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_after_its_lease_is_stopped_when_it_must_have_settled() {
    let ended = Arc::new(AtomicBool::new(false));
    let told = ended.clone();
    let front = front(running(10, 30), move |_| {
        let told = told.clone();
        async move {
            tokio::time::sleep(seconds(95)).await;
            told.store(true, Ordering::SeqCst);
            answer(201, "done")
        }
    });
    front.ask(post("k", "{}")).await;
    tokio::time::sleep(seconds(200)).await;
    assert!(!ended.load(Ordering::SeqCst));
    assert_eq!(front.guard.under_way(), 0);
    assert_eq!(
        front.ask(post("k", "{}")).await.marks(),
        (409, None, Some("outcome-unknown"))
    );
}

/// A handler that blocks its thread does not stop the heartbeat of its own lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_keeps_its_lease() {
    let policy = RoutePolicy {
        request: RequestPolicy {
            clocks: Clocks {
                lease: std::time::Duration::from_millis(300),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    };
    let front = front(policy, |_| async {
        std::thread::sleep(std::time::Duration::from_millis(1200));
        answer(201, "done")
    });
    let first = tokio::spawn(front.app.clone().oneshot(post("k", "{}")));
    tokio::time::sleep(std::time::Duration::from_millis(900)).await;
    let state = front.state("k").await;
    let Some(RequestState::Claimed { lease_until, .. }) = state else {
        panic!("{state:?}");
    };
    assert!(lease_until > front.now());
    assert_eq!(first.await.unwrap().unwrap().status(), 201);
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_what_is_under_way_and_says_what_is_not() {
    let front = slow(RoutePolicy::default(), 20);
    let asking: tokio::task::JoinHandle<Result<Response<Body>, _>> =
        tokio::spawn(front.app.clone().oneshot(post("k", "{}")));
    tokio::task::yield_now().await;
    assert_eq!(front.guard.drain(seconds(5)).await, 1);
    assert_eq!(front.guard.drain(seconds(50)).await, 0);
    assert_eq!(asking.await.unwrap().unwrap().status(), 201);
}
