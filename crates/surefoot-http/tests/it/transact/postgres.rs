//! Over PostgreSQL, on a pool of the service's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Postgres, Row, Transaction};
use surefoot_core::error::StoreError;
use surefoot_core::port::{
    Committed, Messages, NewJob, Opened, RequestTransactions, Requests, Store,
};
use surefoot_core::request::{NewRequest, Request};
use surefoot_core::time::Timestamp;
use surefoot_store::postgres::{PostgresOptions, PostgresRequestTransactions, PostgresStore, sqlx};

use super::bank::{Bank, START, Stand, paid};

#[derive(Clone)]
struct Database {
    store: PostgresStore,
    transactions: PostgresRequestTransactions,
    pool: PgPool,
    schema: Arc<Schema>,
}

/// A schema of this test's own, dropped with it.
struct Schema(String);

fn url() -> String {
    std::env::var("SUREFOOT_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("SUREFOOT_TEST_POSTGRES names no PostgreSQL server; run ./test, or scripts/with-postgres cargo test")
    })
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("drop schema if exists {} cascade", self.0);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut connection = PgConnection::connect(&url()).await.unwrap();
                sqlx::raw_sql(AssertSqlSafe(sql))
                    .execute(&mut connection)
                    .await
                    .unwrap();
            });
        });
        drop(thread.join());
    }
}

async fn open() -> Database {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let schema = Schema(format!("front_{}_{number}", std::process::id()));
    let options = PostgresOptions {
        schema: schema.0.clone(),
        ..PostgresOptions::parse(&url()).unwrap()
    };
    let store = PostgresStore::open_with(options).await.unwrap();
    let pool = PgPoolOptions::new().max_connections(8);
    let pool = pool.connect(&url()).await.unwrap();
    let table = format!(
        "create table {}.payment (amount bigint unique deferrable initially deferred)",
        schema.0
    );
    sqlx::raw_sql(AssertSqlSafe(table))
        .execute(&pool)
        .await
        .unwrap();
    Database {
        transactions: PostgresRequestTransactions::new(store.clone(), pool.clone()),
        store,
        pool,
        schema: Arc::new(schema),
    }
}

#[async_trait]
impl RequestTransactions for Database {
    type Transaction = Transaction<'static, Postgres>;

    async fn open(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Opened<Self::Transaction>, StoreError> {
        self.transactions.open(new, now).await
    }

    async fn commit(&self, transaction: Self::Transaction, request: &Request) -> Committed {
        self.transactions.commit(transaction, request).await
    }

    async fn roll_back(&self, transaction: Self::Transaction) {
        self.transactions.roll_back(transaction).await;
    }
}

impl Bank for Database {
    fn ports(&self) -> (Arc<dyn Requests>, Arc<dyn Store>, Arc<dyn Messages>) {
        let store = Arc::new(self.store.clone());
        (store.clone(), store.clone(), store)
    }

    async fn pay(transaction: &mut Self::Transaction, bank: &Self, job: NewJob) {
        let insert = format!("insert into {}.payment values (1)", bank.schema.0);
        sqlx::raw_sql(AssertSqlSafe(insert))
            .execute(&mut **transaction)
            .await
            .unwrap();
        bank.store.append_in(transaction, &[paid()]).await.unwrap();
        bank.store
            .enqueue_in(transaction, &job, START)
            .await
            .unwrap();
    }

    async fn payments(&self) -> i64 {
        let count = format!("select count(*) from {}.payment", self.schema.0);
        let row = sqlx::raw_sql(AssertSqlSafe(count))
            .fetch_one(&self.pool)
            .await
            .unwrap();
        row.get(0)
    }
}

over_this_database!(open);

/// The second payment of the same amount is refused by the commit itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_the_server_refuses_left_nothing() {
    let stand = Stand::new(open().await);
    assert_eq!(stand.post("k", "commit").await.status, 201);
    let told = stand.post("other", "commit").await;
    assert_eq!(told.marks(), (503, None, Some("store-unavailable")));
    assert_eq!(
        (stand.rows().await, stand.state("other").await),
        ((1, 1, 1), None)
    );
}

/// The session ends in the middle of a run, as by a crash of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_lost_before_the_commit_left_nothing() {
    let stand = Stand::new(open().await);
    let first = tokio::spawn({
        let stand = stand.clone();
        async move { stand.post("k", "hold").await }
    });
    stand.at_work(1).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let end = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and query like '%{}%'",
        stand.bank.schema.0
    );
    sqlx::raw_sql(AssertSqlSafe(end))
        .execute(&stand.bank.pool)
        .await
        .unwrap();
    stand.go.notify_one();
    let told = first.await.unwrap();
    assert_eq!(told.marks(), (503, None, Some("store-unavailable")));
    assert_eq!(
        (stand.rows().await, stand.state("k").await),
        ((0, 0, 0), None)
    );
    stand.go.notify_one();
    assert_eq!(
        stand.post("k", "hold").await.marks(),
        (201, Some("executed"), None)
    );
}
