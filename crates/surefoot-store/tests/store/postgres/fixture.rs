//! A schema of its own for each test, on the server that `scripts/with-postgres` started, dropped when the test ends.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use surefoot_store::postgres::{PostgresOptions, PostgresStore, sqlx};

/// The server's URL.
pub(crate) fn url() -> String {
    std::env::var("SUREFOOT_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("SUREFOOT_TEST_POSTGRES names no PostgreSQL server; run ./test, or scripts/with-postgres cargo test")
    })
}

/// Options for a schema that no other test has, and that goes with the runtime of this test.
pub(crate) fn scratch() -> PostgresOptions {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let schema = format!("test_{}_{number}", std::process::id());
    let guard = Guard {
        schema: schema.clone(),
    };
    tokio::spawn(async move {
        let _dropped_with_the_runtime = guard;
        std::future::pending::<()>().await;
    });
    PostgresOptions {
        schema,
        ..PostgresOptions::parse(&url()).unwrap()
    }
}

/// A store in a schema of its own.
pub(crate) async fn store() -> PostgresStore {
    PostgresStore::open_with(scratch()).await.unwrap()
}

/// A plain connection, as any other program would have.
pub(crate) async fn connection() -> PgConnection {
    let options: PgConnectOptions = url().parse().unwrap();
    options.connect().await.unwrap()
}

struct Guard {
    schema: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let sql = format!("drop schema if exists {} cascade", self.schema);
        // The runtime of the test is on its way out, so this takes a short one of its own.
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut connection = connection().await;
                sqlx::raw_sql(AssertSqlSafe(sql))
                    .execute(&mut connection)
                    .await
                    .unwrap();
                connection.close().await.unwrap();
            });
        });
        assert!(
            thread.join().is_ok() || std::thread::panicking(),
            "the schema of a test is dropped"
        );
    }
}
