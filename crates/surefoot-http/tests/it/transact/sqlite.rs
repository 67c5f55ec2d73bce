//! Over a SQLite file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::port::{
    Committed, Messages, NewJob, Opened, RequestTransactions, Requests, Store,
};
use surefoot_core::request::{NewRequest, Request};
use surefoot_core::time::Timestamp;
use surefoot_store::sqlite::{
    SqliteRequestTransactions, SqliteStore, SqliteTransaction, rusqlite, store_error,
};
use tempfile::TempDir;

use super::bank::{Bank, START, Stand, job, paid};
use super::cases::arrival;

#[derive(Clone)]
struct Sqlite {
    store: SqliteStore,
    transactions: SqliteRequestTransactions,
    path: PathBuf,
    _folder: Arc<TempDir>,
}

async fn open() -> Sqlite {
    open_with(SqliteRequestTransactions::HOLD_MAX).await
}

async fn open_with(hold_max: Duration) -> Sqlite {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let opened = SqliteRequestTransactions::open(store.clone(), &path, hold_max);
    let transactions = opened.await.unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("create table payment (amount integer)")
        .unwrap();
    Sqlite {
        store,
        transactions,
        path,
        _folder: Arc::new(folder),
    }
}

#[async_trait]
impl RequestTransactions for Sqlite {
    type Transaction = SqliteTransaction;

    async fn open(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Opened<SqliteTransaction>, StoreError> {
        RequestTransactions::open(&self.transactions, new, now).await
    }

    async fn commit(&self, transaction: SqliteTransaction, request: &Request) -> Committed {
        self.transactions.commit(transaction, request).await
    }

    async fn roll_back(&self, transaction: SqliteTransaction) {
        self.transactions.roll_back(transaction).await;
    }
}

impl Bank for Sqlite {
    fn ports(&self) -> (Arc<dyn Requests>, Arc<dyn Store>, Arc<dyn Messages>) {
        let store = Arc::new(self.store.clone());
        (store.clone(), store.clone(), store)
    }

    async fn pay(transaction: &mut SqliteTransaction, _: &Self, job: NewJob) {
        let paid = transaction.run(move |tx| {
            tx.execute("insert into payment values (1)", ())
                .map_err(store_error)?;
            SqliteStore::append_in(tx, &[paid()])?;
            SqliteStore::enqueue_in(tx, &job, START)
        });
        paid.await.unwrap();
    }

    async fn payments(&self) -> i64 {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        let count = "select count(*) from payment";
        connection.query_row(count, (), |row| row.get(0)).unwrap()
    }
}

over_this_database!(open);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_held_for_too_long_frees_the_writer() {
    let bank = open_with(Duration::from_millis(200)).await;
    let opened = RequestTransactions::open(&bank, &arrival("k"), START).await;
    let Opened::Run {
        mut transaction,
        request,
    } = opened.unwrap()
    else {
        panic!("it runs");
    };
    Sqlite::pay(&mut transaction, &bank, job()).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let late = transaction.run(|_| Ok::<(), StoreError>(())).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    let committed = bank.commit(transaction, &request).await;
    assert!(matches!(committed, Committed::No(_)), "{committed:?}");
    let stand = Stand::new(bank);
    assert_eq!(
        stand.post("k", "commit").await.status,
        201,
        "the key is free"
    );
    assert_eq!(stand.rows().await, (1, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_panics_rolls_its_transaction_back_and_harms_no_other() {
    let bank = open().await;
    for work in ["panics", "rolls back"] {
        let opened = RequestTransactions::open(&bank, &arrival("k"), START).await;
        let Opened::Run {
            mut transaction, ..
        } = opened.unwrap()
        else {
            panic!("it runs");
        };
        Sqlite::pay(&mut transaction, &bank, job()).await;
        let ran = transaction.run(move |tx| {
            assert!(work != "panics", "a fault of the work");
            tx.execute_batch("rollback").map_err(store_error)
        });
        let ran = ran.await;
        assert!(work != "panics" || ran.is_err(), "{ran:?}");
        bank.roll_back(transaction).await;
        assert_eq!(bank.payments().await, 0, "{work}");
    }
}
