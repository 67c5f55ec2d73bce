//! The line of an order key when a dead letter comes back into it.

use surefoot_core::failure::Failure;
use surefoot_core::id::{Actor, JobId, OrderKey};
use surefoot_core::job::LeasedJob;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{By, NewJob, Replay, Store};
use surefoot_core::settle::{Next, Report, Settlement, settle};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Roll;
use surefoot_store::sqlite::SqliteStore;

use super::fixture::{Place, START, at, job, success, take};

async fn report(store: &SqliteStore, job: &LeasedJob, report: Report) {
    let settlement = settle(job, &[], report, &JobPolicy::default(), at(1), Roll(0));
    store.advance(&[settlement], None, at(1)).await.unwrap();
}

fn ordered() -> NewJob {
    NewJob {
        order_key: Some(OrderKey::new("order-7").unwrap()),
        ..job("mail")
    }
}

async fn replay(store: &SqliteStore, dead: JobId) {
    let by = By {
        actor: Actor::new("ada").unwrap(),
        reason: ErrorText::from("mended"),
    };
    store
        .replay(dead, &Replay { effect: None, by }, at(1))
        .await
        .unwrap();
}

/// The first died and is replayed while the second runs; the third waits.
async fn replayed_behind_a_runner() -> (Place, SqliteStore, [LeasedJob; 2], NewJob) {
    let place = Place::new();
    let store = place.open().await;
    let jobs = [ordered(), ordered(), ordered()];
    store.enqueue(&jobs, START).await.unwrap();
    let first = take(&store, "mail", 10).await.remove(0);
    report(
        &store,
        &first,
        Report::Failed(Failure::permanent("no such order")),
    )
    .await;
    let second = take(&store, "mail", 10).await.remove(0);
    replay(&store, first.id).await;
    assert_eq!(take(&store, "mail", 10).await, [], "one at a time");
    let [_, _, third] = jobs;
    (place, store, [first, second], third)
}

#[tokio::test]
async fn a_job_that_is_given_back_goes_behind_an_earlier_one() {
    let (_place, store, [first, second], third) = replayed_behind_a_runner().await;
    report(&store, &second, Report::Released(ErrorText::from("drain"))).await;
    for expected in [first.id, second.id, third.id] {
        let leased = take(&store, "mail", 10).await;
        assert_eq!(
            leased.iter().map(|job| job.id).collect::<Vec<_>>(),
            [expected]
        );
        store
            .advance(&[success(&leased[0], at(1))], None, at(1))
            .await
            .unwrap();
    }
}

/// What was begun of a line holds its key until it is due, and goes before all others; then they go in this order.
async fn goes_first(store: &SqliteStore, line: [JobId; 3]) {
    assert_eq!(
        take(store, "mail", 10).await,
        [],
        "what was begun holds the key until it is due"
    );
    for expected in line {
        let claim = super::fixture::claim("mail", 10);
        let leased = store
            .advance(&[], Some(&claim), at(1000))
            .await
            .unwrap()
            .leased;
        assert_eq!(
            leased.iter().map(|job| job.id).collect::<Vec<_>>(),
            [expected]
        );
        store
            .advance(&[success(&leased[0], at(1000))], None, at(1000))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_retry_goes_before_an_earlier_one_that_came_back() {
    let (_place, store, [first, second], third) = replayed_behind_a_runner().await;
    report(
        &store,
        &second,
        Report::Failed(Failure::transient("try again")),
    )
    .await;
    goes_first(&store, [second.id, first.id, third.id]).await;
}

#[tokio::test]
async fn a_question_goes_before_an_earlier_one_that_came_back() {
    let (_place, store, [first, second], third) = replayed_behind_a_runner().await;
    let failure = Report::Failed(Failure::transient("no answer"));
    let failed = settle(&second, &[], failure, &JobPolicy::default(), at(1), Roll(0));
    let verifying = Settlement {
        next: Next::Verifying {
            due_at: at(10),
            error: ErrorText::from("no answer"),
        },
        ..failed
    };
    store.advance(&[verifying], None, at(1)).await.unwrap();
    goes_first(&store, [second.id, first.id, third.id]).await;
}

#[tokio::test]
async fn a_replay_comes_before_a_later_one_that_only_waits() {
    let place = Place::new();
    let store = place.open().await;
    let [first, second] = [ordered(), ordered()];
    store
        .enqueue(&[first.clone(), second.clone()], START)
        .await
        .unwrap();
    let leased = take(&store, "mail", 10).await.remove(0);
    report(
        &store,
        &leased,
        Report::Failed(Failure::permanent("no such order")),
    )
    .await;
    replay(&store, first.id).await;
    for expected in [first.id, second.id] {
        let leased = take(&store, "mail", 10).await;
        assert_eq!(
            leased.iter().map(|job| job.id).collect::<Vec<_>>(),
            [expected]
        );
        store
            .advance(&[success(&leased[0], at(1))], None, at(1))
            .await
            .unwrap();
    }
}
