//! A schema of its own for each test, on the server that `scripts/with-postgres` started, dropped when the test ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use surefoot_core::id::{JobId, Key, Kind, Queue, Tenant, Worker};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{Claim, KindTerms, NewJob, Queues, Store};
use surefoot_core::settle::{Report, Settlement, settle};
use surefoot_core::time::{Roll, Timestamp};
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

/// The rules of a request's row, which the schema leaves out because the server would read them again for every statement.
const REQUEST_RULES: &str = "
    alter table {schema}.request
        add check (state in ('claimed', 'finished', 'unknown', 'needs_human', 'released', 'expired')),
        add check (body is null or state = 'finished'),
        add check (due_at is null or state in ('claimed', 'unknown')),
        add check ((leaves_at is null) = (state in ('claimed', 'unknown', 'needs_human')))";

/// A store in a schema of its own, whose rows are held to their rules.
pub(crate) async fn store() -> PostgresStore {
    let options = scratch();
    let rules = REQUEST_RULES.replace("{schema}", &options.schema);
    let store = PostgresStore::open_with(options).await.unwrap();
    let mut connection = connection().await;
    sqlx::raw_sql(AssertSqlSafe(rules))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    store
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

/// When every test begins: 2026-03-01T12:00:00Z.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

/// `seconds` after [`START`].
pub(crate) fn at(seconds: u64) -> Timestamp {
    START.after(Duration::from_secs(seconds))
}

pub(crate) fn kind(name: &str) -> Kind {
    Kind::new(name).unwrap()
}

pub(crate) fn fresh_id() -> JobId {
    let mut random = [0; 10];
    random.fill_with(|| fastrand::u8(..));
    JobId::new(START, random)
}

/// A job that no other has the id of.
pub(crate) fn job(kind_name: &str) -> NewJob {
    NewJob {
        id: fresh_id(),
        tenant: Tenant::single(),
        kind: kind(kind_name),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        trace: None,
        run_at: None,
        deadline_at: None,
    }
}

pub(crate) fn keyed(kind_name: &str, key: &str) -> NewJob {
    NewJob {
        key: Some(Key::new(key).unwrap()),
        ..job(kind_name)
    }
}

pub(crate) fn claim(kind_name: &str, max: u32) -> Claim {
    Claim {
        worker: Worker::new("worker-1").unwrap(),
        kinds: vec![KindTerms {
            kind: kind(kind_name),
            lease: Duration::from_secs(40),
            recovery: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        }],
        queues: Queues::All,
        queue_limits: BTreeMap::new(),
        max,
    }
}

pub(crate) fn success(job: &LeasedJob, now: Timestamp) -> Settlement {
    decided(job, Report::Succeeded(Payload::null()), now)
}

pub(crate) fn decided(job: &LeasedJob, report: Report, now: Timestamp) -> Settlement {
    settle(job, &[], report, &JobPolicy::default(), now, Roll(0))
}

/// What a claim of this kind takes.
pub(crate) async fn take(store: &PostgresStore, kind_name: &str, max: u32) -> Vec<LeasedJob> {
    store
        .advance(&[], Some(&claim(kind_name, max)), at(1))
        .await
        .unwrap()
        .leased
}
