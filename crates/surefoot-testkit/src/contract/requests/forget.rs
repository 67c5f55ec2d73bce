//! What leaves, and when: answers first, keys later, and what is open never.

use std::sync::Arc;

use surefoot_core::port::{Forgotten, RequestWritten, Requests};
use surefoot_core::request::{Arrived, RequestStateName};
use surefoot_core::time::Timestamp;

use super::fixture::{
    FIRST, answered, applied, arrival, at, at_once, begin, claimed, in_state, known, record,
    released, run, write,
};

async fn forget(store: &dyn Requests, now: Timestamp, limit: u32) -> (u64, u64, bool) {
    let Forgotten {
        expired,
        forgotten,
        more,
    } = store
        .forget_requests(now, limit)
        .await
        .expect("forget_requests");
    (expired, forgotten, more)
}

pub async fn an_answer_leaves_at_the_end_of_its_retention(store: Arc<dyn Requests>) {
    let finished = in_state(&*store, "k", RequestStateName::Finished).await;
    let just_before = Timestamp::from_micros(at(105).as_micros() - 1);
    assert_eq!(forget(&*store, just_before, 10).await, (0, 0, false));
    assert_eq!(record(&*store, "k").await, finished);
    assert_eq!(forget(&*store, at(105), 10).await, (1, 0, false));
    let expired = finished.expired(at(105)).expect("its retention is over");
    assert_eq!(record(&*store, "k").await, expired, "the key stays taken");
    let gone = Arrived::Gone {
        finished_at: at(5),
        status: 201,
    };
    assert_eq!(
        begin(&*store, &arrival("k"), at(106)).await,
        gone,
        "no-double-effect"
    );
    assert_eq!(
        forget(&*store, at(106), 10).await,
        (0, 0, false),
        "it leaves once"
    );
}

pub async fn a_key_is_free_when_its_tombstone_is_over(store: Arc<dyn Requests>) {
    let finished = in_state(&*store, "k", RequestStateName::Finished).await;
    let expired = in_state(&*store, "j", RequestStateName::Expired).await;
    let just_before = Timestamp::from_micros(at(205).as_micros() - 1);
    assert_eq!(forget(&*store, just_before, 10).await, (1, 0, false));
    for late in [at(205), at(100_000)] {
        let answer = begin(&*store, &arrival("k"), late).await;
        assert!(
            matches!(answer, Arrived::Gone { .. }),
            "while it is on record it is not run: {answer:?}"
        );
    }
    assert_eq!(forget(&*store, at(205), 10).await, (0, 2, false));
    assert_eq!(
        (known(&*store, "k").await, known(&*store, "j").await),
        (None, None)
    );
    assert_eq!(
        store
            .request_by_id(expired.id)
            .await
            .expect("request_by_id"),
        None
    );
    let anew = run(&*store, &arrival("k"), at(206)).await;
    assert_ne!(anew.id, finished.id, "it is another request");
    assert_eq!((anew.version, anew.epoch), (1, FIRST));
}

pub async fn what_is_open_is_never_forgotten(store: Arc<dyn Requests>) {
    let open = [
        RequestStateName::Claimed,
        RequestStateName::Unknown,
        RequestStateName::NeedsHuman,
    ];
    let mut requests = Vec::new();
    for name in open {
        requests.push(in_state(&*store, name.as_str(), name).await);
    }
    assert_eq!(forget(&*store, Timestamp::MAX, 10).await, (0, 0, false));
    for request in requests {
        let read = store.request(&request.identity).await.expect("request");
        assert_eq!(read, Some(request), "no-lost-intent: it waits for somebody");
    }
}

pub async fn what_was_released_is_forgotten_too(store: Arc<dyn Requests>) {
    let free = in_state(&*store, "k", RequestStateName::Released).await;
    let held = in_state(&*store, "j", RequestStateName::Released).await;
    run(&*store, &arrival("j"), at(100)).await;
    assert_eq!(forget(&*store, at(204), 10).await, (0, 0, false));
    assert_eq!(record(&*store, "k").await, free);
    assert_eq!(forget(&*store, at(205), 10).await, (0, 1, false));
    assert_eq!(known(&*store, "k").await, None);
    assert_eq!(
        record(&*store, "j").await.id,
        held.id,
        "one that runs again stays"
    );
}

pub async fn it_goes_in_steps_the_oldest_first(store: Arc<dyn Requests>) {
    for number in 0..5 {
        let request = run(&*store, &arrival(&format!("k-{number}")), at(10 - number)).await;
        applied(&*store, answered(&request, at(20 - number))).await;
    }
    assert_eq!(forget(&*store, at(150), 2).await, (2, 0, true));
    let gone = |state| state == RequestStateName::Expired;
    assert!(
        gone(record(&*store, "k-4").await.state.name())
            && gone(record(&*store, "k-3").await.state.name())
    );
    assert_eq!(forget(&*store, at(150), 2).await, (2, 0, true));
    assert_eq!(forget(&*store, at(150), 2).await, (1, 0, false));
    assert_eq!(forget(&*store, at(250), 2).await, (0, 2, true));
    assert_eq!(
        (known(&*store, "k-4").await, known(&*store, "k-3").await),
        (None, None)
    );
    assert_eq!(forget(&*store, at(250), 3).await, (0, 3, false));
}

pub async fn a_late_write_to_a_forgotten_request_changes_nothing(store: Arc<dyn Requests>) {
    let first = claimed(&*store, "k").await;
    applied(&*store, released(&first, at(5))).await;
    assert_eq!(forget(&*store, at(205), 10).await, (0, 1, false));
    let late = answered(&first, at(206));
    assert_eq!(write(&*store, &late).await, RequestWritten::Changed(None));
    let anew = run(&*store, &arrival("k"), at(207)).await;
    assert_eq!(
        (anew.version, anew.epoch),
        (first.version, first.epoch),
        "version and epoch do not tell them apart"
    );
    assert_eq!(
        write(&*store, &late).await,
        RequestWritten::Changed(None),
        "no-zombie-write: the id does"
    );
    assert_eq!(record(&*store, "k").await, anew);
}

pub async fn it_runs_beside_arrivals_and_beside_itself(store: Arc<dyn Requests>) {
    for number in 0..40 {
        let request = claimed(&*store, &format!("k-{number}")).await;
        applied(&*store, answered(&request, at(5))).await;
    }
    let counts = at_once(8, |number| {
        let store = store.clone();
        async move {
            let (mut done, mut ran) = (0, 0);
            for turn in 0..10 {
                let (_, forgotten, _) = forget(&*store, at(300), 3).await;
                done += forgotten;
                let key = format!("k-{}", (number * 5 + turn) % 40);
                match begin(&*store, &arrival(&key), at(300)).await {
                    Arrived::Run(_) => ran += 1,
                    Arrived::Gone { .. } | Arrived::Running { .. } => {}
                    other => panic!("one-outcome: {other:?}"),
                }
            }
            (done, ran)
        }
    })
    .await;
    let mut left = 0;
    loop {
        let (_, forgotten, more) = forget(&*store, at(300), 100).await;
        left += forgotten;
        if !more {
            break;
        }
    }
    let done: u64 = counts.iter().map(|(done, _)| done).sum();
    assert_eq!(done + left, 40, "each is forgotten once");
    let ran: u64 = counts.iter().map(|(_, ran)| ran).sum();
    let depth = store.request_depth().await.expect("request_depth");
    assert_eq!(
        depth.claimed, ran,
        "and each key that was free then runs once"
    );
}
