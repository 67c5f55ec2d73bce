//! What somebody has to look at: leases that ended, and outcomes that are to be asked about.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::port::Requests;
use surefoot_core::request::{Request, RequestId, RequestStateName, RequestVerdict, extend, lapse};
use surefoot_core::time::Timestamp;

use super::fixture::{FIRST, applied, arrival, at, claimed, in_state, run, verified};

async fn due(store: &dyn Requests, now: Timestamp, limit: u32) -> Vec<Request> {
    store.due_requests(now, limit).await.expect("due_requests")
}

async fn due_ids(store: &dyn Requests, now: Timestamp, limit: u32) -> Vec<RequestId> {
    due(store, now, limit)
        .await
        .iter()
        .map(|request| request.id)
        .collect()
}

pub async fn what_lapsed_or_is_to_be_asked_about_is_found(store: Arc<dyn Requests>) {
    let mut open = Vec::new();
    for name in RequestStateName::ALL {
        let request = in_state(&*store, name.as_str(), name).await;
        if request.due_at().is_some() {
            open.push(request);
        }
    }
    let just_before = Timestamp::from_micros(at(40).as_micros() - 1);
    assert_eq!(
        due(&*store, just_before, 10).await,
        [],
        "a lease that holds is nobody else's business"
    );
    let mut found = due(&*store, at(40), 10).await;
    found.sort_by_key(|request| request.id);
    open.sort_by_key(|request| request.id);
    assert_eq!(
        found, open,
        "claimed and unknown ones, whole, and no others"
    );
    let lapsed = lapse(&open[0], at(40)).expect("its lease is over");
    let lapsed = applied(&*store, lapsed).await;
    assert!(
        due(&*store, at(40), 10).await.contains(&lapsed),
        "honest-unknown: it is asked about from then on"
    );
}

pub async fn the_longest_due_is_found_first_and_no_more_than_asked(store: Arc<dyn Requests>) {
    let mut expected = Vec::new();
    for (key, seconds) in [("c", 30), ("a", 10), ("d", 40), ("b", 20)] {
        expected.push((seconds, run(&*store, &arrival(key), at(seconds)).await.id));
    }
    expected.sort_unstable();
    let expected: Vec<_> = expected.into_iter().map(|(_, id)| id).collect();
    assert_eq!(due_ids(&*store, at(1000), 10).await, expected);
    assert_eq!(due_ids(&*store, at(1000), 3).await, expected[..3]);
    assert_eq!(
        due_ids(&*store, at(70), 10).await,
        expected[..3],
        "the fourth holds until 80"
    );
    assert_eq!(due_ids(&*store, at(1000), 0).await, []);
}

pub async fn what_was_put_off_is_not_due(store: Arc<dyn Requests>) {
    let extended = claimed(&*store, "k").await;
    let extended = extend(&extended, FIRST, at(90), at(1)).expect("its lease holds");
    applied(&*store, extended).await;
    assert_eq!(
        due_ids(&*store, at(89), 10).await,
        [],
        "an extended lease holds"
    );
    let unknown = in_state(&*store, "j", RequestStateName::Unknown).await;
    let later = RequestVerdict::StillUnknown {
        ask_again_in: Some(Duration::from_secs(30)),
    };
    let later = applied(&*store, verified(&unknown, later, at(50))).await;
    assert_eq!(due_ids(&*store, at(79), 10).await, []);
    assert_eq!(due_ids(&*store, at(80), 10).await, [later.id]);
}
