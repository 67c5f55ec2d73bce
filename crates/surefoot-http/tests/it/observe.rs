//! What an observer sees of the front door.

use std::sync::Arc;

use http::Request;
use surefoot_core::port::Requests as _;
use surefoot_http::{
    AskNobody, DoorEvent, DoorObserver, Reconciler, ReconcilerOptions, RoutePolicy,
};
use surefoot_testkit::{Fault, Verb};

use crate::fixture::{answer, front, numbered, post, seconds};

#[tokio::test(start_paused = true)]
async fn each_answer_is_told_with_its_route_and_whose_it_is() {
    let front = front(RoutePolicy::default(), numbered());
    front.post("k").await;
    front.post("k").await;
    front.ask(post("k", "{}")).await;
    front.ask(post("a b", "{}")).await;
    let bare = Request::post("/payments/7").body("".into()).unwrap();
    front.ask(bare).await;
    assert_eq!(
        front.seen.take(),
        [
            "ended 201",
            "answered POST /payments executed 201",
            "answered POST /payments replayed 201",
            "answered POST /payments key-reused 422",
            "answered POST /payments key-invalid 400",
            "answered POST /payments/{id} none 201",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_is_told() {
    let front = front(RoutePolicy::default(), |request: Request<_>| async move {
        assert!(
            request.headers()["idempotency-key"] != "panics",
            "a fault of the handler"
        );
        tokio::time::sleep(seconds(400)).await;
        answer(200, "late")
    });
    front.post("panics").await;
    let unknown = [
        "unknown: the handler panicked",
        "answered POST /payments outcome-unknown 409",
    ];
    assert_eq!(front.seen.take(), unknown);
    front.post("slow").await;
    let lost = ["lease lost", "answered POST /payments outcome-unknown 409"];
    assert_eq!(front.seen.take(), lost);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_told_by_its_verb() {
    let front = front(RoutePolicy::default(), numbered());
    front.faults.next(Verb::Begin, Fault::Before);
    assert_eq!(front.post("k").await.status, 201);
    let told = [
        "store failed in begin",
        "ended 201",
        "answered POST /payments executed 201",
    ];
    assert_eq!(front.seen.take(), told);
}

struct Panics;

impl DoorObserver for Panics {
    fn on(&self, _: &DoorEvent<'_>) {
        panic!("a fault of the metrics");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_the_observer_stops_nothing() {
    let front = front(RoutePolicy::default(), numbered());
    let requests = Arc::new(front.store.clone());
    let options = ReconcilerOptions::default();
    let reconciler = Reconciler::new(requests, front.clock.clone(), AskNobody, options).unwrap();
    let seen = front.seen.clone();
    reconciler.observed(seen).round().await.unwrap();
    assert_eq!(front.seen.take(), ["reconciled 0"]);
    let requests = Arc::new(front.store.clone());
    let options = ReconcilerOptions::default();
    let reconciler = Reconciler::new(requests, front.clock.clone(), AskNobody, options).unwrap();
    reconciler.observed(Panics).round().await.unwrap();
    assert_eq!(front.store.request_depth().await.unwrap().claimed, 0);
}
