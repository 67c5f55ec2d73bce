//! What holds over every database.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::Request;
use surefoot_core::port::Opened;
use surefoot_core::request::{
    Arrived, Clocks, Content, Fingerprint, Identity, NewRequest, Operation, Request as Record,
    RequestId, RequestKey, RequestState, RequestVerdict,
};
use surefoot_http::{Reconcile, RoutePolicy};

use super::bank::{Bank, START, Stand, job, policy, request};
use crate::fixture::tenant;

pub(crate) async fn rows_message_job_and_answer_are_one_commit_and_are_replayed<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let first = stand.post("k", "commit").await;
    assert_eq!(first.marks(), (201, Some("executed"), None));
    assert_eq!(stand.rows().await, (1, 1, 1));
    let again = stand.post("k", "commit").await;
    assert_eq!(again.marks(), (201, Some("replayed"), None));
    assert_eq!(
        (&again.body[..], first.body),
        (&b"run 1"[..], again.body.clone())
    );
    let other = stand.post("k", "fail").await;
    assert_eq!(other.marks(), (422, None, Some("key-reused")));
    assert_eq!(stand.rows().await, (1, 1, 1), "no-double-effect");
    let state = stand.state("k").await;
    assert!(
        matches!(state, Some(RequestState::Finished { .. })),
        "{state:?}"
    );
}

pub(crate) async fn what_fails_leaves_nothing_and_frees_the_key<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let table = [
        ("fail", 502, Some("executed")),
        ("decline", 402, Some("executed")),
        ("panic", 500, None),
    ];
    for (number, (then, status, mark)) in table.into_iter().enumerate() {
        for round in 1..=2 {
            let told = stand.post(then, then).await;
            assert_eq!(told.marks(), (status, mark, Some("rolled-back")), "{then}");
            assert_eq!(stand.rows().await, (0, 0, 0), "{then}");
            assert_eq!(stand.state(then).await, None, "{then}: the key is free");
            let runs = stand.runs.load(Ordering::SeqCst);
            assert_eq!(runs, 2 * number + round, "it ran, and may run again");
        }
    }
    let seen = stand.seen.take();
    assert_eq!(
        seen[..2],
        [
            "nothing happened: the handler answered 502 Bad Gateway and did not commit",
            "answered POST /payments rolled-back 502",
        ]
    );
}

pub(crate) async fn what_is_to_follow_a_commit_follows_it_alone<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    for (then, status, woken) in [
        ("fail", 502, 0),
        ("forget", 500, 0),
        ("panic", 500, 0),
        ("unknown", 502, 0),
        ("panic-later", 201, 1),
    ] {
        let told = stand.post(then, then).await;
        assert_eq!(told.status, status, "{then}");
        assert_eq!(stand.woken.load(Ordering::SeqCst), woken, "{then}");
    }
    let replayed = stand.post("panic-later", "panic-later").await;
    assert_eq!(replayed.marks(), (201, Some("replayed"), None));
    assert_eq!(stand.woken.load(Ordering::SeqCst), 1);
}

pub(crate) async fn a_committed_refusal_is_replayed<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let first = stand.post("k", "refuse").await;
    assert_eq!(first.marks(), (402, Some("executed"), None));
    assert_eq!(
        stand.post("k", "refuse").await.marks(),
        (402, Some("replayed"), None)
    );
    assert_eq!(stand.rows().await, (1, 1, 1));
}

pub(crate) async fn the_handler_knows_its_request_and_its_callers_limits<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let mut sent = request("k", "context");
    for (name, value) in [
        ("x-request-timeout-ms", "5000"),
        ("x-retry-owner", "gateway"),
        ("x-retry-attempt", "2"),
        (
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ),
    ] {
        sent.headers_mut().insert(name, value.parse().unwrap());
    }
    let told = stand.ask(sent).await;
    let identity = Identity {
        tenant: tenant("me"),
        key: RequestKey::new("k").unwrap(),
    };
    let record = stand.bank.ports().0.request(&identity).await.unwrap();
    let expected = format!("true Some(2) {} true", record.unwrap().id);
    assert_eq!(told.body, expected);
    let mut late = request("late", "context");
    let none = "0".parse().unwrap();
    late.headers_mut().insert("x-request-timeout-ms", none);
    let told = stand.ask(late).await;
    assert_eq!(told.marks(), (504, None, Some("deadline-passed")));
    assert_eq!(
        (stand.rows().await, stand.state("late").await),
        ((1, 1, 1), None)
    );
}

pub(crate) async fn a_success_without_a_commit_is_told_as_a_fault<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let told = stand.post("k", "forget").await;
    assert_eq!(told.marks(), (500, None, Some("rolled-back")));
    assert_eq!(told.header("retry-after"), Some("1"));
    assert_eq!(
        (stand.rows().await, stand.state("k").await),
        ((0, 0, 0), None)
    );
}

pub(crate) async fn a_twin_is_told_at_once<B: Bank>(bank: B) {
    let stand = Stand::new(bank.clone());
    let other = stand.node(bank, policy());
    let first = tokio::spawn({
        let stand = stand.clone();
        async move { stand.post("k", "hold").await }
    });
    stand.at_work(1).await;
    let began = Instant::now();
    for node in [&stand, &other] {
        for _ in 0..5 {
            let twin = node.post("k", "hold").await;
            assert_eq!(twin.marks(), (409, None, Some("outstanding")));
        }
    }
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    stand.go.notify_one();
    assert_eq!(first.await.unwrap().marks(), (201, Some("executed"), None));
    for node in [&stand, &other] {
        assert_eq!(
            node.post("k", "hold").await.marks(),
            (201, Some("replayed"), None)
        );
    }
    assert_eq!(stand.rows().await, (1, 1, 1), "no-double-effect");
}

pub(crate) async fn a_storm_commits_once<B: Bank>(bank: B) {
    let waits = RoutePolicy {
        wait: Duration::from_secs(20),
        ..policy()
    };
    let stand = Stand::with(bank.clone(), bank.clone(), waits.clone());
    let other = stand.node(bank, waits);
    let arrivals = (0..40).map(|number| {
        let node = if number % 2 == 0 {
            stand.clone()
        } else {
            other.clone()
        };
        tokio::spawn(async move { node.post("k", "commit").await })
    });
    let arrivals: Vec<_> = arrivals.collect();
    let mut executed = 0;
    for arrival in arrivals {
        let told = arrival.await.unwrap();
        match told.marks() {
            (201, Some("executed"), None) => executed += 1,
            (201, Some("replayed"), None) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(&told.body[..], b"run 1", "one-outcome");
    }
    assert_eq!((executed, stand.rows().await), (1, (1, 1, 1)));
}

pub(crate) async fn a_client_that_goes_away_changes_nothing<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let gone = tokio::spawn({
        let stand = stand.clone();
        async move { stand.post("k", "hold").await }
    });
    stand.at_work(1).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    stand.go.notify_one();
    while stand.state("k").await.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(
        stand.post("k", "hold").await.marks(),
        (201, Some("replayed"), None)
    );
    assert_eq!(stand.rows().await, (1, 1, 1));
}

/// An arrival that no guard made.
pub(super) fn arrival(key: &str) -> NewRequest {
    let identity = Identity {
        tenant: tenant("me"),
        key: RequestKey::new(key).unwrap(),
    };
    let operation = Operation::new("POST", "/payments").unwrap();
    let content = Content {
        operation: &operation,
        path: "/payments",
        query: None,
        content_type: Some(b"application/json"),
        body: b"\"commit\"",
    };
    let mut random = [0; 10];
    fastrand::fill(&mut random);
    NewRequest {
        id: RequestId::new(START, random),
        fingerprint: Fingerprint::of(&identity, &content),
        identity,
        operation,
        clocks: Clocks::default(),
        holder: surefoot_core::id::Worker::new("node").unwrap(),
    }
}

pub(crate) async fn what_is_dropped_before_its_commit_leaves_nothing<B: Bank>(bank: B) {
    let stand = Stand::new(bank.clone());
    let Opened::Run {
        mut transaction, ..
    } = bank.open(&arrival("k"), START).await.unwrap()
    else {
        panic!("it runs");
    };
    B::pay(&mut transaction, &bank, job()).await;
    let twin = bank.open(&arrival("k"), START).await.unwrap();
    assert!(
        matches!(twin, Opened::Known(Arrived::Running { .. })),
        "a twin is told at once"
    );
    // As a process does that dies.
    drop(transaction);
    let began = Instant::now();
    while stand.post("k", "commit").await.status != 201 {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "the key is free soon"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stand.rows().await, (1, 1, 1), "of the second run alone");
}

pub(crate) async fn a_handler_that_takes_too_long_is_rolled_back<B: Bank>(bank: B) {
    let mut short = policy();
    short.request.clocks.lease = Duration::from_millis(200);
    short.run_max = Duration::from_millis(300);
    let stand = Stand::with(bank.clone(), bank, short);
    let told = stand.post("k", "hold").await;
    assert_eq!(told.marks(), (500, None, Some("rolled-back")));
    assert_eq!(
        (stand.rows().await, stand.state("k").await),
        ((0, 0, 0), None)
    );
}

pub(crate) async fn a_request_without_a_key_has_no_transaction<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let mut bare = request("k", "commit");
    bare.headers_mut().remove("idempotency-key");
    assert_eq!(stand.ask(bare).await.marks(), (400, None, None));
    let get = Request::get("/payments").body("".into()).unwrap();
    assert_eq!(stand.ask(get).await.status, 405);
    assert_eq!(stand.rows().await, (0, 0, 0));
}

pub(crate) async fn an_answer_that_is_too_large_is_committed_without_its_body<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let first = stand.post("k", "large").await;
    assert_eq!(
        (first.marks(), first.body.len()),
        ((200, Some("executed"), None), 2000)
    );
    let again = stand.post("k", "large").await;
    assert_eq!(
        again.marks(),
        (409, Some("replayed"), Some("result-not-kept"))
    );
    assert_eq!(stand.rows().await, (1, 1, 1));
}

pub(crate) async fn what_may_have_happened_outside_is_unknown_without_its_rows<B: Bank>(bank: B) {
    let stand = Stand::new(bank);
    let first = stand.post("k", "unknown").await;
    assert_eq!(
        first.marks(),
        (502, Some("executed"), Some("outcome-unknown"))
    );
    let again = stand.post("k", "unknown").await;
    assert_eq!(
        again.marks(),
        (409, None, Some("outcome-unknown")),
        "honest-unknown"
    );
    assert_eq!(stand.rows().await, (0, 0, 0));
}

/// Nothing happened, whoever is asked.
struct DidNotHappen;

#[async_trait]
impl Reconcile for DidNotHappen {
    async fn ask(&self, _: &Record) -> RequestVerdict {
        RequestVerdict::DidNotHappen
    }
}

pub(crate) async fn what_a_witness_released_runs_in_a_transaction_and_stays_released_when_it_fails<
    B: Bank,
>(
    bank: B,
) {
    let mut settles_at_once = policy();
    settles_at_once.request.clocks.settles_within = Duration::ZERO;
    let stand = Stand::with(bank.clone(), bank, settles_at_once);
    let unknown = (502, Some("executed"), Some("outcome-unknown"));
    assert_eq!(stand.post("k", "unsure").await.marks(), unknown);
    let reconciler = stand.guard.reconciler(DidNotHappen, Default::default());
    assert_eq!(reconciler.unwrap().round().await.unwrap().released, 1);
    let fails = (502, Some("executed"), Some("rolled-back"));
    assert_eq!(stand.post("k", "unsure").await.marks(), fails);
    let state = stand.state("k").await;
    assert!(
        matches!(state, Some(RequestState::Released { .. })),
        "as it was: {state:?}"
    );
    assert_eq!(
        stand.post("k", "unsure").await.marks(),
        (201, Some("executed"), None)
    );
    assert_eq!(
        stand.post("k", "unsure").await.marks(),
        (201, Some("replayed"), None)
    );
    assert_eq!(stand.rows().await, (1, 1, 1));
}
