//! Those who come while somebody of this node asks or waits: each is told what was true after it came.

use surefoot_core::request::{Keep, RequestPolicy};
use surefoot_http::{RoutePolicy, Told};
use surefoot_testkit::{Fault, Verb};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::fixture::{Front, Got, answer, front, numbered, post, seconds};

fn waiting(wait: u64) -> RoutePolicy {
    RoutePolicy {
        wait: seconds(wait),
        ..RoutePolicy::default()
    }
}

/// A node on which `k` runs for so many seconds from now on, and another one that waits for it.
async fn running(takes: u64, other: RoutePolicy) -> (Front, Front, JoinHandle<Got>) {
    let front = front(RoutePolicy::default(), move |_| async move {
        sleep(seconds(takes)).await;
        answer(201, "done")
    });
    let first = coming(&front);
    tokio::task::yield_now().await;
    let other = front.beside(other);
    (front, other, first)
}

fn coming(front: &Front) -> JoinHandle<Got> {
    let front = front.clone();
    tokio::spawn(async move { front.post("k").await })
}

/// The store was asked before the run ended, and its answer is slow: who comes after the end was told is not told that it runs.
#[tokio::test(start_paused = true)]
async fn nobody_is_told_what_was_seen_before_it_came() {
    for verb in [Verb::Begin, Verb::Request] {
        let (_, other, first) = running(2, RoutePolicy::default()).await;
        if verb == Verb::Request {
            // From here on the other node looks before it claims.
            assert_eq!(other.post("k").await.status, 409);
        }
        other.faults.next(verb, Fault::Late(seconds(3)));
        let asked = coming(&other);
        assert_eq!(first.await.unwrap().status, 201);
        let late = other.post("k").await;
        assert_eq!(late.marks(), (201, Some("replayed"), None), "{verb:?}");
        let asked = asked.await.unwrap().status;
        assert!(asked == 201 || asked == 409, "{verb:?}: {asked}");
    }
}

/// The end is on record, and its node does not know it yet: another node tells it, and from there on this one does too.
#[tokio::test(start_paused = true)]
async fn a_run_whose_end_another_node_told_is_not_told_to_run() {
    let (front, other, first) = running(2, RoutePolicy::default()).await;
    front
        .faults
        .next(Verb::WriteRequest, Fault::Late(seconds(3)));
    assert_eq!(front.post("k").await.status, 409);
    sleep(seconds(3)).await;
    let replayed = (201, Some("replayed"), None);
    assert_eq!(other.post("k").await.marks(), replayed);
    assert!(!first.is_finished());
    assert_eq!(front.post("k").await.marks(), replayed);
    assert_eq!(first.await.unwrap().status, 201);
}

/// Where the second look gets no answer either, one of those who came asks for itself.
#[tokio::test(start_paused = true)]
async fn who_came_asks_where_the_first_cannot_say() {
    let (_, other, first) = running(2, RoutePolicy::default()).await;
    other.faults.next(Verb::Begin, Fault::Late(seconds(3)));
    other.faults.next(Verb::Request, Fault::Before);
    let asked = coming(&other);
    assert_eq!(first.await.unwrap().status, 201);
    let late = other.post("k").await;
    assert_eq!(late.marks(), (201, Some("replayed"), None));
    assert_eq!(asked.await.unwrap().status, 409);
}

/// The first of those who wait looks for all of them, also when nobody waits for itself any more.
#[tokio::test(start_paused = true)]
async fn who_waits_waits_on_when_the_first_goes_away() {
    let (_, other, first) = running(3, waiting(5)).await;
    let gone = coming(&other);
    sleep(seconds(1)).await;
    let waits = coming(&other);
    sleep(seconds(1)).await;
    gone.abort();
    assert_eq!(waits.await.unwrap().marks(), (201, Some("replayed"), None));
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!(other.guard.drain(seconds(1)).await, 0);
}

/// Each waits for as long as it was promised, whoever came first.
#[tokio::test(start_paused = true)]
async fn each_waits_for_its_own_time() {
    let (_, other, first) = running(7, waiting(5)).await;
    let early = coming(&other);
    sleep(seconds(4)).await;
    let late = coming(&other);
    assert_eq!(
        early.await.unwrap().marks(),
        (409, None, Some("outstanding"))
    );
    assert_eq!(late.await.unwrap().marks(), (201, Some("replayed"), None));
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!(other.guard.drain(seconds(1)).await, 0);
}

/// A storm of those who wait is few looks, whoever of them goes away.
#[tokio::test(start_paused = true)]
async fn many_who_wait_look_once_for_all() {
    let (_, other, first) = running(60, waiting(5)).await;
    let mut many: Vec<_> = (0..1000).map(|_| coming(&other)).collect();
    sleep(seconds(1)).await;
    many.drain(..500).for_each(|one| one.abort());
    for one in many {
        assert_eq!(one.await.unwrap().status, 409);
    }
    let looks = other.faults.counts(Verb::Request).calls;
    assert!((5..30).contains(&looks), "{looks}");
    assert_eq!(other.faults.counts(Verb::Begin).calls, 1);
    first.abort();
}

/// Somebody always waits here for a run elsewhere. Once it is released it runs with one of those who come, and does not stay
/// "running" for ever.
#[tokio::test(start_paused = true)]
async fn what_was_released_runs_also_where_somebody_always_waits() {
    let policy = |wait| RoutePolicy {
        wait: seconds(wait),
        request: RequestPolicy {
            keep: Keep::UnlessNothingHappened,
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    };
    let front = front(policy(0), |_| async {
        sleep(seconds(3)).await;
        let mut response = answer(503, "full");
        let told = Told::NothingHappened("full".to_owned());
        response.extensions_mut().insert(told);
        response
    });
    let first = coming(&front);
    tokio::task::yield_now().await;
    let other = front.beside(policy(2));
    let mut all = Vec::new();
    for _ in 0..20 {
        all.push(coming(&other));
        sleep(seconds(1)).await;
    }
    assert_eq!(first.await.unwrap().status, 503);
    assert_eq!((front.ran(), other.ran()), (1, 1));
    let mut told = Vec::new();
    for one in all {
        told.push(one.await.unwrap().status.as_u16());
    }
    let ran = told.iter().position(|status| *status == 201).unwrap();
    assert!(ran < 8, "{told:?}");
    assert!(told[ran..].iter().all(|status| *status == 201), "{told:?}");
}

/// A repetition that was here before is looked up, and waits all the same.
#[tokio::test(start_paused = true)]
async fn who_comes_again_waits_again() {
    let (_, other, first) = running(8, waiting(5)).await;
    assert_eq!(other.post("k").await.status, 409);
    assert_eq!(other.post("k").await.marks(), (201, Some("replayed"), None));
    assert_eq!(first.await.unwrap().status, 201);
}

/// What a look finds is for the same request only.
#[tokio::test(start_paused = true)]
async fn another_body_does_not_share_a_look() {
    let front = front(RoutePolicy::default(), numbered());
    assert_eq!(front.post("k").await.status, 201);
    front.faults.next(Verb::Request, Fault::Late(seconds(2)));
    let looked = coming(&front);
    tokio::task::yield_now().await;
    let other = front.ask(post("k", "{\"amount\":2}")).await;
    assert_eq!(other.marks(), (422, None, Some("key-reused")));
    assert_eq!(looked.await.unwrap().marks(), (201, Some("replayed"), None));
}
