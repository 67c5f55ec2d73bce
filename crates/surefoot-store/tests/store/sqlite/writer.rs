//! The writer thread: what shares a commit shares nothing else.

use surefoot_core::error::StoreError;
use surefoot_core::port::Store;

use super::fixture::{Place, START, at, job, take};

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_fails_half_way_leaves_nothing_and_spoils_no_other() {
    let place = Place::new();
    let store = place.open().await;
    let refuse = "create trigger refuse before insert on surefoot_job when new.kind = 'refused'
        begin select raise(abort, 'refused by the test'); end";
    place.connect().execute_batch(refuse).unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|index| {
            let store = store.clone();
            let second = if index % 2 == 0 { "mail" } else { "refused" };
            tokio::spawn(async move { store.enqueue(&[job("mail"), job(second)], START).await })
        })
        .collect();
    for (index, task) in tasks.into_iter().enumerate() {
        match (index % 2, task.await.unwrap()) {
            (0, Ok(enqueued)) => assert_eq!(enqueued.len(), 2),
            (1, Err(StoreError::Broken(what))) => {
                assert!(what.contains("refused by the test"), "{what}")
            }
            (_, other) => panic!("{index}: {other:?}"),
        }
    }
    assert_eq!(store.depth(at(1)).await.unwrap().counts[0].count, 200);
    assert_eq!(take(&store, "mail", 1000).await.len(), 200);
}

#[tokio::test]
async fn an_operation_that_nobody_waits_for_is_not_begun() {
    let place = Place::new();
    let store = place.open().await;
    let other = place.connect();
    other.execute_batch("begin immediate").unwrap();
    let jobs = [job("mail"), job("mail")];
    let slow = store.enqueue(&jobs[..1], START);
    let given_up = tokio::time::timeout(std::time::Duration::from_millis(100), slow).await;
    assert!(given_up.is_err(), "the other process writes");
    let mut queued = Box::pin(store.enqueue(&jobs[1..], START));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(queued.as_mut().poll(&mut context).is_pending());
    drop(queued);
    other.execute_batch("rollback").unwrap();
    store.enqueue(&[job("mail")], START).await.unwrap();
    assert_eq!(take(&store, "mail", 10).await.len(), 1);
}
