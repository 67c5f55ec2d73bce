//! What the cases share: arrivals, ends and states in their plainest form, and verbs that must not err.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::effect::{VerifyPlan, Witness};
use surefoot_core::id::{Epoch, Tenant, Worker};
use surefoot_core::port::{RequestWritten, Requests};
use surefoot_core::request::{
    Arrived, Clocks, Content, End, Fingerprint, Finish, Identity, Kept, NewRequest, Operation,
    Request, RequestId, RequestKey, RequestStateName, RequestVerdict, StoredResponse, Witnessed,
    asked, finish, lapse, witnessed,
};
use surefoot_core::time::{Roll, Timestamp};

pub(super) use super::super::fixture::{START, at, at_once, by};

/// Lease 40 s, calls settle 10 s later, answers are kept for 100 s and keys for 200 s.
pub(super) const CLOCKS: Clocks = Clocks {
    lease: Duration::from_secs(40),
    retention: Duration::from_secs(100),
    tombstone: Duration::from_secs(200),
    settles_within: Duration::from_secs(10),
};

/// An id that is higher than every one given before in this process.
fn fresh_id() -> RequestId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.to_be_bytes());
    RequestId::new(START, random)
}

pub(super) fn identity(key: &str) -> Identity {
    Identity {
        tenant: Tenant::single(),
        key: RequestKey::new(key).expect("a key"),
    }
}

/// An arrival of `POST /payments` under this key, with this body.
pub(super) fn arrival_of(identity: Identity, body: &str) -> NewRequest {
    let operation = Operation::new("POST", "/payments").expect("an operation");
    let content = Content {
        operation: &operation,
        path: "/payments",
        query: None,
        content_type: Some(b"application/json"),
        body: body.as_bytes(),
    };
    NewRequest {
        id: fresh_id(),
        fingerprint: Fingerprint::of(&identity, &content),
        identity,
        operation,
        clocks: CLOCKS,
        holder: Worker::new("node-1").expect("a worker"),
    }
}

/// An arrival under this key, each one with the same body.
pub(super) fn arrival(key: &str) -> NewRequest {
    arrival_of(identity(key), r#"{"amount":100}"#)
}

/// Begins, and repeats the same call while the store does not answer in time, as the port allows: a crowd may be more than
/// a slow machine serves at once.
pub(super) async fn begin(store: &dyn Requests, new: &NewRequest, now: Timestamp) -> Arrived {
    for _ in 0..20 {
        match store.begin(new, now).await {
            Err(error) if error.is_transient() => {}
            answer => return answer.expect("begin"),
        }
    }
    panic!("begin is answered in twenty tries")
}

/// The request of an arrival that must run.
pub(super) async fn run(store: &dyn Requests, new: &NewRequest, now: Timestamp) -> Request {
    match begin(store, new, now).await {
        Arrived::Run(request) => *request,
        other => panic!("it runs, and not {other:?}"),
    }
}

/// A key that is claimed at [`START`].
pub(super) async fn claimed(store: &dyn Requests, key: &str) -> Request {
    run(store, &arrival(key), START).await
}

pub(super) async fn write(store: &dyn Requests, request: &Request) -> RequestWritten {
    store.write_request(request).await.expect("write_request")
}

/// Writes a request down that follows on the one on record.
pub(super) async fn applied(store: &dyn Requests, request: Request) -> Request {
    let written = write(store, &request).await;
    assert_eq!(
        written,
        RequestWritten::Applied,
        "a write that follows applies"
    );
    request
}

pub(super) async fn known(store: &dyn Requests, key: &str) -> Option<Request> {
    store.request(&identity(key)).await.expect("request")
}

/// What is on record under a key that is there.
pub(super) async fn record(store: &dyn Requests, key: &str) -> Request {
    known(store, key)
        .await
        .expect("no-lost-intent: a request that was claimed is on record")
}

pub(super) fn response(status: u16) -> Kept {
    Kept::Response(StoredResponse {
        status,
        headers: vec![("content-type".to_owned(), b"application/json".to_vec())],
        body: br#"{"id":"pay_1"}"#.to_vec(),
    })
}

/// The request after its latest run ended so, at `now`.
pub(super) fn ended(request: &Request, end: End, now: Timestamp) -> Request {
    match finish(request, request.epoch, end, now) {
        Finish::Write(request) | Finish::Disputed(request) => *request,
        other @ (Finish::Already | Finish::Stale) => panic!("it is written: {other:?}"),
    }
}

pub(super) fn answered(request: &Request, now: Timestamp) -> Request {
    ended(request, End::Answered(response(201)), now)
}

pub(super) fn released(request: &Request, now: Timestamp) -> Request {
    ended(request, End::NothingHappened("declined".into()), now)
}

/// The request after a person said so.
pub(super) fn told(request: &Request, verdict: RequestVerdict, now: Timestamp) -> Request {
    match witnessed(
        request,
        verdict,
        Witness::Person(by("seen in the ledger")),
        now,
    ) {
        Witnessed::Settled(request) | Witnessed::Disputed(request) => *request,
        other @ (Witnessed::Same | Witnessed::TooEarly(_) | Witnessed::NoVerdict) => {
            panic!("it is written: {other:?}")
        }
    }
}

pub(super) fn plan() -> VerifyPlan {
    VerifyPlan {
        backoff: Backoff::List {
            delays: vec![Duration::from_secs(5)],
            jitter: Jitter::None,
        },
        ..VerifyPlan::default()
    }
}

/// The request after a question that was asked at `now`.
pub(super) fn verified(request: &Request, verdict: RequestVerdict, now: Timestamp) -> Request {
    asked(request, verdict, &plan(), now, now, Roll(0)).expect("its outcome is unknown")
}

/// Brings the request of a key into this state: claimed at [`START`], ended five seconds later, lapsed 40 seconds
/// later.
pub(super) async fn in_state(store: &dyn Requests, key: &str, wanted: RequestStateName) -> Request {
    let claimed = claimed(store, key).await;
    let unknown = lapse(&claimed, at(40)).expect("its lease is over");
    match wanted {
        RequestStateName::Claimed => claimed,
        RequestStateName::Finished => applied(store, answered(&claimed, at(5))).await,
        RequestStateName::Released => applied(store, released(&claimed, at(5))).await,
        RequestStateName::Unknown => applied(store, unknown).await,
        RequestStateName::NeedsHuman => {
            let unknown = applied(store, unknown).await;
            let verdict = RequestVerdict::NeedsHuman("no look-up".into());
            applied(store, verified(&unknown, verdict, at(41))).await
        }
        RequestStateName::Expired => {
            let finished = applied(store, answered(&claimed, at(5))).await;
            applied(
                store,
                finished.expired(at(105)).expect("its retention is over"),
            )
            .await
        }
    }
}

/// The first epoch.
pub(super) const FIRST: Epoch = Epoch(1);
