//! The contract of messages over [`SqliteStore`], and messages and receipts in the caller's own transaction.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::id::{Consumer, MessageId, SinkName, Source, Tenant, Topic, Worker};
use surefoot_core::message::{Accepted, Message, Receipt, Topics};
use surefoot_core::payload::Payload;
use surefoot_core::port::{Appended, Messages, Since, Subscribed, Take, TakenKey};
use surefoot_store::sqlite::SqliteStore;
use surefoot_store::sqlite::rusqlite::TransactionBehavior::Immediate;

use super::fixture::{Place, START};

/// A store on a new file named after the case, which stays until the next run.
async fn open(case: &'static str) -> Arc<dyn Messages> {
    Arc::new(SqliteStore::open(super::new_file(case)).await.unwrap())
}

surefoot_testkit::messages_contract!(open);

fn message(id: &str) -> Message {
    Message {
        id: MessageId::new(id).unwrap(),
        tenant: Tenant::single(),
        topic: Topic::new("order.paid").unwrap(),
        key: None,
        payload: Payload::null(),
        trace: None,
        appended_at: START,
    }
}

fn receipt(id: &str) -> Receipt {
    let consumer = Consumer::new("loyalty").unwrap();
    Receipt::of(Source::outbox(), &message(id), consumer)
}

async fn take(store: &SqliteStore) -> Vec<TakenKey> {
    let take = Take {
        sink: SinkName::new("s").unwrap(),
        holder: Worker::new("w").unwrap(),
        lease: Duration::from_secs(40),
        keys_max: 10,
        per_key_max: 10,
    };
    store.take(&take, START).await.unwrap()
}

async fn subscribe(store: &SqliteStore) {
    let sink = SinkName::new("s").unwrap();
    let done = store
        .subscribe(&sink, &Topics::All, Since::Now, START)
        .await;
    assert_eq!(done.unwrap(), Subscribed::Done { backfilled: 0 });
}

#[tokio::test]
async fn rows_and_messages_are_one_commit_or_none() {
    let place = Place::new();
    let store = place.open().await;
    subscribe(&store).await;
    let mut connection = place.connect();
    connection
        .execute("create table orders (id integer primary key)", ())
        .unwrap();
    for commits in [false, true] {
        let tx = connection.transaction_with_behavior(Immediate).unwrap();
        tx.execute("insert into orders values (1)", ()).unwrap();
        let appended = SqliteStore::append_in(&tx, &[message("m-1"), message("m-2")]).unwrap();
        let written = |appended: &Appended| matches!(appended, Appended::Written(_));
        assert!(appended.len() == 2 && appended.iter().all(written));
        assert_eq!(take(&store).await, [], "nobody sees it before");
        if commits {
            tx.commit().unwrap();
        } else {
            tx.rollback().unwrap();
        }
        let rows: i64 = connection
            .query_row("select count(*) from orders", (), |row| row.get(0))
            .unwrap();
        assert_eq!(rows, i64::from(commits));
        assert_eq!(take(&store).await.len(), if commits { 2 } else { 0 });
    }
}

#[tokio::test]
async fn a_receipt_and_its_work_are_one_commit_or_none() {
    let place = Place::new();
    let store = place.open().await;
    let mut connection = place.connect();
    connection
        .execute_batch("create table points (n integer not null); insert into points values (0);")
        .unwrap();
    // The first try is undone after its work; the second stands; the third is a duplicate and does nothing.
    for (commits, expected) in [
        (false, Accepted::First),
        (true, Accepted::First),
        (true, Accepted::Duplicate { at: START }),
    ] {
        let tx = connection.transaction_with_behavior(Immediate).unwrap();
        let accepted = SqliteStore::accept_in(&tx, &receipt("m-1"), START).unwrap();
        assert_eq!(accepted, expected);
        if accepted == Accepted::First {
            tx.execute("update points set n = n + 15", ()).unwrap();
        }
        if commits {
            tx.commit().unwrap();
        } else {
            tx.rollback().unwrap();
        }
    }
    let points: i64 = connection
        .query_row("select n from points", (), |row| row.get(0))
        .unwrap();
    assert_eq!(points, 15, "no-double-effect, no-lost-intent");
    let known = store.accept(&receipt("m-1"), START).await.unwrap();
    assert_eq!(known, Accepted::Duplicate { at: START });
}

#[tokio::test]
async fn work_on_the_writer_thread_carries_messages_and_receipts() {
    let place = Place::new();
    let store = place.open().await;
    subscribe(&store).await;
    let work = |fails: bool| {
        store.write(move |tx| {
            SqliteStore::accept_in(tx, &receipt("m-1"), START)?;
            SqliteStore::append_in(tx, &[message("m-2")])?;
            if fails {
                return Err(surefoot_core::error::StoreError::Broken("undo".to_owned()));
            }
            Ok(())
        })
    };
    work(true).await.unwrap_err();
    assert_eq!(take(&store).await, []);
    work(false).await.unwrap();
    assert_eq!(take(&store).await.len(), 1);
    let known = store.accept(&receipt("m-1"), START).await.unwrap();
    assert_eq!(known, Accepted::Duplicate { at: START });
}
