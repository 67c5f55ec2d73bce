//! Writing down what was decided: by compare and swap, and never over somebody else's word.

use std::sync::Arc;

use surefoot_core::port::{RequestWritten, Requests};
use surefoot_core::request::{End, Finish, Operation, RequestStateName, extend, finish, lapse};

use super::fixture::{
    FIRST, answered, applied, arrival, at, claimed, in_state, record, released, response, run,
    write,
};

pub async fn a_write_applies_when_it_follows(store: Arc<dyn Requests>) {
    let request = claimed(&*store, "k").await;
    let longer = extend(&request, FIRST, at(90), at(1)).expect("its lease holds");
    let longer = applied(&*store, longer).await;
    assert_eq!(record(&*store, "k").await, longer);
    let finished = applied(&*store, answered(&longer, at(80))).await;
    assert_eq!(record(&*store, "k").await, finished);
}

pub async fn a_repeated_write_is_already(store: Arc<dyn Requests>) {
    let finished = in_state(&*store, "k", RequestStateName::Finished).await;
    for _ in 0..2 {
        assert_eq!(write(&*store, &finished).await, RequestWritten::Already);
    }
    let free = in_state(&*store, "j", RequestStateName::Released).await;
    run(&*store, &arrival("j"), at(6)).await;
    let late = write(&*store, &free).await;
    assert!(
        matches!(late, RequestWritten::Changed(Some(_))),
        "after the next claim it is late: {late:?}"
    );
    assert_eq!(record(&*store, "k").await, finished);
}

pub async fn a_write_that_does_not_follow_changes_nothing(store: Arc<dyn Requests>) {
    let request = claimed(&*store, "k").await;
    let finished = applied(&*store, answered(&request, at(5))).await;
    let changed = RequestWritten::Changed(Some(Box::new(finished.clone())));
    let lapsed = lapse(&request, at(40)).expect("its lease is over");
    let mut ahead = released(&request, at(5));
    ahead.version = finished.version + 2;
    let mut behind = request.clone();
    behind.version = 0;
    let mut first = finished.clone();
    first.version = 1;
    for write_of in [
        lapsed,
        released(&request, at(5)),
        ahead,
        behind,
        first,
        request,
    ] {
        let written = write(&*store, &write_of).await;
        assert_eq!(written, changed, "one-outcome: what is on record is told");
    }
    assert_eq!(record(&*store, "k").await, finished);
}

pub async fn a_stale_epoch_changes_nothing(store: Arc<dyn Requests>) {
    let first = claimed(&*store, "k").await;
    applied(&*store, released(&first, at(5))).await;
    let second = run(&*store, &arrival("k"), at(6)).await;
    let late = write(&*store, &answered(&first, at(7))).await;
    let changed = RequestWritten::Changed(Some(Box::new(second.clone())));
    assert_eq!(
        late, changed,
        "no-zombie-write: the first run's answer is not taken"
    );
    let end = End::Answered(response(500));
    assert_eq!(
        finish(&second, FIRST, end, at(7)),
        Finish::Stale,
        "and whoever reads on is told so"
    );
    let done = applied(&*store, answered(&second, at(8))).await;
    assert_eq!(record(&*store, "k").await, done);
}

pub async fn a_write_without_a_request_changes_nothing(store: Arc<dyn Requests>) {
    let other = claimed(&*store, "k").await;
    let mut stranger = answered(&other, at(5));
    stranger.id = arrival("k").id;
    assert_eq!(
        write(&*store, &stranger).await,
        RequestWritten::Changed(None),
        "the key is held by a request of another id"
    );
    assert_eq!(record(&*store, "k").await, other);
}

pub async fn what_was_asked_never_changes(store: Arc<dyn Requests>) {
    let request = claimed(&*store, "k").await;
    let finished = applied(&*store, answered(&request, at(5))).await;
    let operation = Operation::new("POST", "/payments").expect("an operation");
    let read = record(&*store, "k").await;
    assert_eq!(
        (read.operation, read.claimed_at),
        (operation, request.claimed_at)
    );
    assert_eq!(
        (read.fingerprint, read.identity),
        (request.fingerprint, request.identity)
    );
    assert_eq!((read.id, read.clocks), (finished.id, finished.clocks));
}
