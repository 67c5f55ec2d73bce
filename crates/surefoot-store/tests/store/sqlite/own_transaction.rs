//! The caller's own transaction: a job is there if and only if that transaction commits.

use rusqlite::{Connection, Transaction, TransactionBehavior};
use surefoot_core::error::StoreError;
use surefoot_core::port::{Enqueued, Store};
use surefoot_store::sqlite::{SqliteStore, store_error};

use super::fixture::{Place, START, at, job, take};

/// Business rows in the same file.
fn orders(place: &Place) -> i64 {
    place
        .connect()
        .query_row("select count(*) from orders", (), |row| row.get(0))
        .unwrap()
}

async fn shop() -> (Place, SqliteStore) {
    let place = Place::new();
    let store = place.open().await;
    place
        .connect()
        .execute_batch("create table orders (id integer primary key)")
        .unwrap();
    (place, store)
}

#[tokio::test]
async fn a_rollback_leaves_nothing_and_a_commit_makes_it_claimable() {
    let (place, store) = shop().await;
    let mut connection = place.connect();
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    tx.execute("insert into orders values (1)", ()).unwrap();
    SqliteStore::enqueue_in(&tx, &job("mail"), START).unwrap();
    tx.rollback().unwrap();
    assert_eq!(
        (orders(&place), take(&store, "mail", 10).await.len()),
        (0, 0)
    );
    assert_eq!(store.depth(at(1)).await.unwrap().counts, []);

    let wanted = job("mail");
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    tx.execute("insert into orders values (1)", ()).unwrap();
    let enqueued = SqliteStore::enqueue_in(&tx, &wanted, START).unwrap();
    assert_eq!(enqueued, Enqueued::Created(wanted.id));
    assert_eq!(
        store.job(wanted.id).await.unwrap(),
        None,
        "nobody sees it before the commit"
    );
    tx.commit().unwrap();
    assert_eq!(store.depth(at(1)).await.unwrap().counts[0].count, 1);
    let leased = take(&store, "mail", 10).await;
    assert_eq!((orders(&place), leased[0].id), (1, wanted.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_waits_for_the_callers_transaction() {
    let (place, store) = shop().await;
    let mut connection = place.connect();
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    SqliteStore::enqueue_in(&tx, &job("mail"), START).unwrap();
    let other = tokio::spawn({
        let store = store.clone();
        async move { store.enqueue(&[job("mail")], START).await }
    });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!other.is_finished(), "one writes at a time");
    tx.commit().unwrap();
    other.await.unwrap().unwrap();
    assert_eq!(take(&store, "mail", 10).await.len(), 2);
}

/// Inserts an order and its job on the writer thread.
fn order(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    tx.execute("insert into orders values (?1)", [id])
        .map_err(store_error)?;
    SqliteStore::enqueue_in(tx, &job("mail"), START).map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_fails_or_panics_on_the_writer_spoils_no_other() {
    let (place, store) = shop().await;
    let tasks: Vec<_> = (0..60)
        .map(|id| {
            let store = store.clone();
            tokio::spawn(async move {
                store
                    .write(move |tx| {
                        order(tx, id)?;
                        match id % 3 {
                            0 => Ok(()),
                            1 => Err(StoreError::Refused("changed my mind".into())),
                            _ => panic!("a fault in the caller's code"),
                        }
                    })
                    .await
            })
        })
        .collect();
    let mut kept = 0;
    for (id, task) in tasks.into_iter().enumerate() {
        match (id % 3, task.await.unwrap()) {
            (0, Ok(())) => kept += 1,
            (1, Err(StoreError::Refused(cause))) => {
                assert_eq!(cause.to_string(), "changed my mind")
            }
            (2, Err(StoreError::Broken(what))) => assert!(what.contains("panicked"), "{what}"),
            (_, other) => panic!("order {id}: {other:?}"),
        }
    }
    assert_eq!((kept, orders(&place)), (20, 20));
    assert_eq!(store.depth(at(1)).await.unwrap().counts[0].count, 20);
    assert_eq!(take(&store, "mail", 1000).await.len(), 20);
}

/// An error of the caller's own kind.
#[derive(Debug)]
enum ShopError {
    SoldOut,
    Store(StoreError),
}

impl From<StoreError> for ShopError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[tokio::test]
async fn the_callers_own_error_comes_back() {
    let (place, store) = shop().await;
    let refused: Result<(), _> = store
        .write(|tx| {
            order(tx, 1)?;
            Err(ShopError::SoldOut)
        })
        .await;
    assert!(matches!(refused, Err(ShopError::SoldOut)));
    let broken = store
        .write(|tx| {
            order(tx, 2)
                .and_then(|()| order(tx, 2))
                .map_err(ShopError::from)
        })
        .await;
    assert!(
        matches!(broken, Err(ShopError::Store(StoreError::Broken(_)))),
        "{broken:?}"
    );
    assert_eq!(orders(&place), 0);
}

#[tokio::test]
async fn one_that_ends_the_transaction_is_told_and_the_store_goes_on() {
    let (_place, store) = shop().await;
    let refused: Result<(), StoreError> = store
        .write(|tx| tx.execute_batch("rollback").map_err(store_error))
        .await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    store.enqueue(&[job("mail")], START).await.unwrap();
    assert_eq!(take(&store, "mail", 10).await.len(), 1);
}

#[tokio::test]
async fn rows_of_ones_own_are_read_beside_the_writer_and_a_view_cannot_write() {
    let (_place, store) = shop().await;
    let insert = |tx: &Transaction<'_>| {
        tx.execute("insert into orders values (7)", ())
            .map_err(store_error)
    };
    store.write(insert).await.unwrap();
    let count = |view: &Connection| {
        view.query_row("select count(*) from orders", (), |row| row.get(0))
            .map_err(store_error)
    };
    let orders: i64 = store.view(count).await.unwrap();
    assert_eq!(orders, 1);
    let refused = store
        .view(|view| {
            view.execute("insert into orders values (8)", ())
                .map_err(store_error)
        })
        .await;
    assert!(
        matches!(refused, Err(StoreError::Refused(_))),
        "{refused:?}"
    );
    let orders: i64 = store.view(count).await.unwrap();
    assert_eq!(orders, 1);
}
