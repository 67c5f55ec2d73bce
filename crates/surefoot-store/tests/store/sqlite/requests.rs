//! The contract of requests over [`SqliteStore`], and requests in the caller's own transaction.

use std::sync::Arc;

use surefoot_core::port::{RequestWritten, Requests};
use surefoot_core::request::{
    Arrived, End, Finish, Kept, NewRequest, Request, StoredResponse, finish,
};
use surefoot_store::sqlite::SqliteStore;
use surefoot_store::sqlite::rusqlite::TransactionBehavior;

use super::fixture::{Place, START, job, take};

/// A store on a new file named after the case, which stays until the next run.
async fn open(case: &'static str) -> Arc<dyn Requests> {
    Arc::new(SqliteStore::open(super::new_file(case)).await.unwrap())
}

surefoot_testkit::requests_contract!(open);

fn arrival(number: u8) -> NewRequest {
    surefoot_testkit::arrival("k", number, START)
}

fn answered(request: &Request) -> Request {
    let response = StoredResponse {
        status: 201,
        headers: Vec::new(),
        body: b"done".to_vec(),
    };
    match finish(
        request,
        request.epoch,
        End::Answered(Kept::Response(response)),
        START,
    ) {
        Finish::Write(request) => *request,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn claim_rows_job_and_answer_are_one_commit_or_none() {
    let place = Place::new();
    let store = place.open().await;
    let mut connection = place.connect();
    connection
        .execute("create table payment (amount integer)", ())
        .unwrap();
    for commits in [false, true] {
        let tx = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap();
        let Arrived::Run(request) = SqliteStore::begin_in(&tx, &arrival(1), START).unwrap() else {
            panic!("it runs")
        };
        tx.execute("insert into payment values (100)", ()).unwrap();
        SqliteStore::enqueue_in(&tx, &job("mail"), START).unwrap();
        let done = answered(&request);
        assert_eq!(
            SqliteStore::finish_in(&tx, &done).unwrap(),
            RequestWritten::Applied
        );
        assert_eq!(
            store.request_by_id(request.id).await.unwrap(),
            None,
            "nobody sees it before"
        );
        if commits {
            tx.commit().unwrap();
        } else {
            tx.rollback().unwrap();
        }
        let rows: i64 = connection
            .query_row("select count(*) from payment", (), |row| row.get(0))
            .unwrap();
        assert_eq!(rows, i64::from(commits));
        assert_eq!(take(&store, "mail", 10).await.len(), usize::from(commits));
        assert_eq!(
            store.request_by_id(request.id).await.unwrap(),
            commits.then_some(done)
        );
    }
    let twin = store.begin(&arrival(2), START).await.unwrap();
    assert!(matches!(twin, Arrived::Replay { .. }), "{twin:?}");
}
