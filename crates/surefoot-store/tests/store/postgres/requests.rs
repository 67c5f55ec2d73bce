//! The contract of requests over [`PostgresStore`], and requests in the caller's own transaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, Row};
use surefoot_core::port::{RequestWritten, Requests};
use surefoot_core::request::{
    Arrived, End, Finish, Kept, NewRequest, Request, StoredResponse, finish,
};
use surefoot_store::postgres::{PostgresStore, sqlx};

use super::fixture::{START, at, connection, job, scratch, store, take};

async fn open(_case: &'static str) -> Arc<dyn Requests> {
    Arc::new(store().await)
}

surefoot_testkit::requests_contract!(open);

fn arrival(key: &str, number: u8) -> NewRequest {
    surefoot_testkit::arrival(key, number, START)
}

fn ended(request: &Request, end: End) -> Request {
    match finish(request, request.epoch, end, START) {
        Finish::Write(request) => *request,
        other => panic!("{other:?}"),
    }
}

fn answered(request: &Request) -> Request {
    let response = StoredResponse {
        status: 201,
        headers: Vec::new(),
        body: b"done".to_vec(),
    };
    ended(request, End::Answered(Kept::Response(response)))
}

fn run(arrived: Arrived) -> Request {
    match arrived {
        Arrived::Run(request) => *request,
        other => panic!("it runs: {other:?}"),
    }
}

#[tokio::test]
async fn claim_rows_job_and_answer_are_one_commit_or_none() {
    let options = scratch();
    let schema = options.schema.clone();
    let store = PostgresStore::open_with(options).await.unwrap();
    let mut connection = connection().await;
    let sql = |text: &str| AssertSqlSafe(text.replace("payment", &format!("{schema}.payment")));
    sqlx::raw_sql(sql("create table payment (amount bigint)"))
        .execute(&mut connection)
        .await
        .unwrap();
    for commits in [false, true] {
        let mut tx = connection.begin().await.unwrap();
        let request = run(store
            .begin_in(&mut tx, &arrival("k", 1), START)
            .await
            .unwrap());
        sqlx::raw_sql(sql("insert into payment values (100)"))
            .execute(&mut *tx)
            .await
            .unwrap();
        store
            .enqueue_in(&mut tx, &job("mail"), START)
            .await
            .unwrap();
        let done = answered(&request);
        assert_eq!(
            store.finish_in(&mut tx, &done).await.unwrap(),
            RequestWritten::Applied
        );
        assert_eq!(
            store.request_by_id(request.id).await.unwrap(),
            None,
            "nobody sees it before"
        );
        if commits {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
        let rows = sqlx::raw_sql(sql("select count(*) from payment"))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(rows.get::<i64, _>(0), i64::from(commits));
        assert_eq!(take(&store, "mail", 10).await.len(), usize::from(commits));
        assert_eq!(
            store.request_by_id(request.id).await.unwrap(),
            commits.then_some(done)
        );
    }
    let twin = store.begin(&arrival("k", 2), START).await.unwrap();
    assert!(matches!(twin, Arrived::Replay { .. }), "{twin:?}");
}

/// Twins of a key whose transaction is open, in both ways to begin: each is told at once.
async fn twins_are_told_at_once(store: &PostgresStore, key: &str) {
    let begun = Instant::now();
    for number in 10..20 {
        let twin = store.begin(&arrival(key, number), at(1)).await.unwrap();
        assert!(
            matches!(twin, Arrived::Running { .. }),
            "no-double-effect: {twin:?}"
        );
        let mut other = connection().await;
        let mut tx = other.begin().await.unwrap();
        let twin = store
            .begin_in(&mut tx, &arrival(key, number), at(1))
            .await
            .unwrap();
        assert!(
            matches!(twin, Arrived::Running { .. }),
            "no-double-effect: {twin:?}"
        );
        tx.commit().await.unwrap();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "nobody waits: {:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_twin_of_an_open_transaction_is_told_at_once_and_waits_for_nobody() {
    let store = store().await;
    let mut connection = connection().await;
    let mut tx = connection.begin().await.unwrap();
    let first = run(store
        .begin_in(&mut tx, &arrival("k", 1), START)
        .await
        .unwrap());
    twins_are_told_at_once(&store, "k").await;
    let other = run(store.begin(&arrival("other", 9), START).await.unwrap());
    assert_ne!(other.id, first.id, "and another key is not held up");
    tx.rollback().await.unwrap();
    let second = run(store.begin(&arrival("k", 3), at(2)).await.unwrap());
    assert_ne!(second.id, first.id, "after a rollback the key is as it was");
}

#[tokio::test]
async fn a_released_request_is_claimed_again_in_a_transaction_and_its_twins_do_not_wait() {
    let store = store().await;
    let first = run(store.begin(&arrival("k", 1), START).await.unwrap());
    let free = ended(&first, End::NothingHappened("declined".into()));
    assert_eq!(
        store.write_request(&free).await.unwrap(),
        RequestWritten::Applied
    );
    let mut connection = connection().await;
    let mut tx = connection.begin().await.unwrap();
    let again = run(store
        .begin_in(&mut tx, &arrival("k", 2), START)
        .await
        .unwrap());
    assert_eq!(again.epoch, first.epoch.next());
    twins_are_told_at_once(&store, "k").await;
    tx.rollback().await.unwrap();
    assert_eq!(
        store.request_by_id(first.id).await.unwrap(),
        Some(free),
        "as it was"
    );
}
