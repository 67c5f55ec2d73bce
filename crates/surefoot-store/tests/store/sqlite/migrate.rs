//! The schema: made once however many start at once, and never touched when it is newer.

use surefoot_core::error::StoreError;
use surefoot_core::port::Store;
use surefoot_store::sqlite::SqliteStore;

use super::fixture::{Place, START, job, open, take};

/// The newest version of this build.
const NEWEST: i64 = 4;

/// The applied migrations, by the test's own connection.
fn versions(place: &Place) -> Vec<i64> {
    let connection = place.connect();
    let mut select = connection
        .prepare("select version from surefoot_schema order by version")
        .unwrap();
    select
        .query_map((), |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[tokio::test]
async fn opening_again_keeps_everything() {
    let place = Place::new();
    let first = place.open().await;
    first.enqueue(&[job("mail")], START).await.unwrap();
    drop(first);
    let second = place.open().await;
    assert_eq!(take(&second, "mail", 10).await.len(), 1);
    assert!(versions(&place).into_iter().eq(1..=NEWEST));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_start_at_once_on_a_new_file() {
    for _ in 0..5 {
        let place = Place::new();
        let starts: Vec<_> = (0..12)
            .map(|_| {
                let path = place.path();
                tokio::spawn(async move { open(&path).await })
            })
            .collect();
        let mut stores = Vec::new();
        for start in starts {
            stores.push(start.await.unwrap());
        }
        for store in &stores {
            store.enqueue(&[job("mail")], START).await.unwrap();
        }
        assert_eq!(take(&stores[0], "mail", 100).await.len(), 12);
        assert!(versions(&place).into_iter().eq(1..=NEWEST));
    }
}

/// Puts everything into the file itself, once the threads of a dropped store have closed it.
fn without_log(connection: &rusqlite::Connection) {
    for _ in 0..1000 {
        let mode = connection.query_row("pragma journal_mode = delete", (), |row| {
            row.get::<_, String>(0)
        });
        if mode.is_ok_and(|mode| mode == "delete") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("somebody still holds the file");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_not_touched() {
    let place = Place::new();
    drop(place.open().await);
    let connection = place.connect();
    connection
        .execute(
            "insert into surefoot_schema (version, applied_at) values (99, 0)",
            (),
        )
        .unwrap();
    without_log(&connection);
    drop(connection);
    let before = std::fs::read(place.path()).unwrap();
    let error = SqliteStore::open(place.path()).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Schema {
                found: 99,
                known: NEWEST,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("run that build or a newer one"),
        "{error}"
    );
    assert!(
        std::fs::read(place.path()).unwrap() == before,
        "the file is as it was"
    );
}

#[tokio::test]
async fn tables_of_the_caller_are_left_alone() {
    let place = Place::new();
    let connection = place.connect();
    connection
        .execute_batch("create table job (id integer); insert into job values (7)")
        .unwrap();
    drop(connection);
    let store = place.open().await;
    store.enqueue(&[job("mail")], START).await.unwrap();
    let found: i64 = place
        .connect()
        .query_row("select id from job", (), |row| row.get(0))
        .unwrap();
    assert_eq!(found, 7);
}

#[tokio::test]
async fn what_is_no_database_is_refused() {
    let place = Place::new();
    std::fs::write(place.path(), "x".repeat(5000)).unwrap();
    let error = SqliteStore::open(place.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
    assert!(!error.is_transient());
}
