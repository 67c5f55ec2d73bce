//! A store that is away, slow, or that took what it did not acknowledge.

use surefoot_core::request::RequestState;
use surefoot_http::{RoutePolicy, StoreAway};
use surefoot_testkit::{Fault, FaultRates, Verb};

use crate::fixture::{answer, front, numbered, seconds};

/// The floor of any such guard: a claim and an end, and for a repetition one look.
#[tokio::test(start_paused = true)]
async fn a_fresh_request_asks_the_store_twice_and_a_repetition_once() {
    let front = front(RoutePolicy::default(), numbered());
    let asked = || {
        let verbs = [Verb::Begin, Verb::WriteRequest, Verb::Request];
        verbs.map(|verb| front.faults.counts(verb).calls)
    };
    front.post("k").await;
    assert_eq!(asked(), [1, 1, 0]);
    for repetitions in 1..=3 {
        assert_eq!(front.post("k").await.marks(), (201, Some("replayed"), None));
        assert_eq!(asked(), [1, 1, repetitions]);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_store_nothing_runs() {
    let front = front(RoutePolicy::default(), numbered());
    front.faults.misbehave(FaultRates {
        before: 1.0,
        ..FaultRates::default()
    });
    let got = front.post("k").await;
    assert_eq!(got.marks(), (503, None, Some("store-unavailable")));
    assert_eq!(got.header("retry-after"), Some("1"));
    assert_eq!(front.ran(), 0);
    front.faults.misbehave(FaultRates::default());
    assert_eq!(front.post("k").await.marks(), (201, Some("executed"), None));
}

#[tokio::test(start_paused = true)]
async fn a_route_that_waives_it_runs_unguarded() {
    let policy = RoutePolicy {
        store_away: StoreAway::RunUnguarded {
            waiver: "a search that costs nothing".to_owned(),
        },
        ..RoutePolicy::default()
    };
    let front = front(policy, numbered());
    front.faults.misbehave(FaultRates {
        before: 1.0,
        ..FaultRates::default()
    });
    for _ in 0..2 {
        let marks = (201, Some("ignored"), Some("store-unavailable"));
        assert_eq!(front.post("k").await.marks(), marks);
    }
    assert_eq!(front.ran(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_runs_once() {
    let front = front(RoutePolicy::default(), numbered());
    front.faults.next(Verb::Begin, Fault::After);
    assert_eq!(front.post("k").await.marks(), (201, Some("executed"), None));
    assert_eq!(front.post("k").await.marks(), (201, Some("replayed"), None));
    assert_eq!(front.ran(), 1);
}

/// Every try to claim took effect and none was acknowledged: nothing ran, so the key does not stay stuck.
#[tokio::test(start_paused = true)]
async fn a_claim_that_was_never_told_is_given_back() {
    let front = front(RoutePolicy::default(), numbered());
    for _ in 0..3 {
        front.faults.next(Verb::Begin, Fault::After);
    }
    assert_eq!(
        front.post("k").await.marks(),
        (503, None, Some("store-unavailable"))
    );
    assert_eq!(front.guard.drain(seconds(60)).await, 0);
    assert!(matches!(
        front.state("k").await,
        Some(RequestState::Released { .. })
    ));
    assert_eq!(front.post("k").await.marks(), (201, Some("executed"), None));
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_hangs_is_given_up() {
    let front = front(RoutePolicy::default(), numbered());
    front.faults.next(Verb::Begin, Fault::Late(seconds(100)));
    assert_eq!(front.post("k").await.status, 503);
    assert_eq!(front.guard.drain(seconds(60)).await, 0);
    assert_eq!(front.post("k").await.marks(), (201, Some("executed"), None));
}

#[tokio::test(start_paused = true)]
async fn an_end_whose_acknowledgement_was_lost_is_on_record() {
    let front = front(RoutePolicy::default(), numbered());
    front.faults.next(Verb::WriteRequest, Fault::After);
    assert_eq!(front.post("k").await.marks(), (201, Some("executed"), None));
    assert_eq!(front.post("k").await.marks(), (201, Some("replayed"), None));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_be_written_yet_is_told_and_written_later() {
    let front = front(RoutePolicy::default(), numbered());
    for _ in 0..7 {
        front.faults.next(Verb::WriteRequest, Fault::Before);
    }
    let got = front.post("k").await;
    assert_eq!(
        (got.marks(), &got.body[..]),
        ((201, Some("executed"), Some("not-recorded")), &b"run 1"[..])
    );
    assert_eq!(
        front.post("k").await.marks(),
        (409, None, Some("outstanding"))
    );
    assert_eq!(front.guard.drain(seconds(90)).await, 0);
    assert_eq!(front.post("k").await.marks(), (201, Some("replayed"), None));
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_is_never_written_is_an_unknown_outcome_and_no_second_run() {
    let front = front(RoutePolicy::default(), numbered());
    for _ in 0..1000 {
        front.faults.next(Verb::WriteRequest, Fault::Before);
    }
    assert_eq!(
        front.post("k").await.header("idempotency-error"),
        Some("not-recorded")
    );
    assert_eq!(front.guard.drain(seconds(120)).await, 0);
    assert_eq!(
        front.post("k").await.marks(),
        (409, None, Some("outcome-unknown"))
    );
    assert_eq!(front.ran(), 1);
}

/// A heartbeat that took effect and was not acknowledged, and one that failed: the lease is held all the same.
#[tokio::test(start_paused = true)]
async fn a_lease_outlives_a_beat_whose_answer_was_lost() {
    for fault in [Fault::After, Fault::Before] {
        let front = front(RoutePolicy::default(), |_| async {
            tokio::time::sleep(seconds(200)).await;
            answer(201, "done")
        });
        front.faults.next(Verb::WriteRequest, fault);
        assert_eq!(
            front.post("k").await.marks(),
            (201, Some("executed"), None),
            "{fault:?}"
        );
    }
}

/// Whatever the store does, a key never runs twice.
#[tokio::test(start_paused = true)]
async fn under_faults_of_every_kind_a_key_runs_once() {
    let front = front(RoutePolicy::default(), numbered());
    front.faults.misbehave(FaultRates {
        before: 0.2,
        after: 0.2,
        delay: 0.1,
        late: 0.1,
        delay_max: seconds(4),
    });
    for key in 0..50 {
        let key = format!("k{key}");
        let before = front.ran();
        for _ in 0..4 {
            front.post(&key).await;
        }
        assert!(front.ran() <= before + 1, "{key}");
    }
    assert!(front.ran() > 25, "{}", front.ran());
}
