//! Measures the PostgreSQL store beside its floors: what the same server does in the same run with bare statements.
//!
//! `cargo run --release -p surefoot-store --example postgres_rates [URL]`; without URL, the server that
//! SUREFOOT_TEST_POSTGRES names (`SUREFOOT_TEST_PG_FSYNC=on scripts/with-postgres ..` starts one that flushes each commit).
//! It works in a schema of its own, `surefoot_rates`, and drops it.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use surefoot_core::id::{JobId, Kind, Queue, Tenant, Worker};
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{Claim, KindTerms, NewJob, Queues, Store};
use surefoot_core::settle::{Report, settle};
use surefoot_core::time::{Roll, Timestamp};
use surefoot_store::postgres::{PostgresOptions, PostgresStore, sqlx};
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SCHEMA: &str = "surefoot_rates";
const PAYLOAD: &str = r#"{"to":"ada@example.org","template":"receipt","order":"order-184467"}"#;
/// How many loops claim and settle at once.
const WORKERS: usize = 4;

#[tokio::main]
async fn main() -> Outcome<()> {
    let url = match std::env::args().nth(1) {
        Some(url) => url,
        None => std::env::var("SUREFOOT_TEST_POSTGRES")
            .map_err(|_| "name a server: postgres_rates postgres://USER@HOST/DATABASE, or set SUREFOOT_TEST_POSTGRES")?,
    };
    drop_schema(&url).await?;
    let options = PostgresOptions {
        schema: SCHEMA.to_owned(),
        ..PostgresOptions::parse(&url)?
    };
    let store = Arc::new(PostgresStore::open_with(options).await?);
    lay_floor(&url).await?;
    println!(
        "{:44} {:>10} {:>10} {:>8}",
        "", "floor/s", "ours/s", "ratio"
    );
    for callers in [1, 16, 64] {
        let jobs = 400 * callers.min(40);
        let floor = bare_inserts(&url, callers, jobs).await?;
        let ours = single_enqueues(&store, callers, jobs).await?;
        line(
            &format!("enqueue, one by one, {callers} callers"),
            floor,
            ours,
        );
        let ours = own_enqueues(&store, &url, callers, jobs).await?;
        line(
            &format!("enqueue_in, one by one, {callers} connections"),
            floor,
            ours,
        );
    }
    clear(&url).await?;
    for batch in [100, 1000] {
        let jobs = 60_000;
        let floor = batched_inserts(&url, batch, jobs).await?;
        let ours = batched_enqueues(&store, batch, jobs).await?;
        line(&format!("enqueue, batches of {batch}"), floor, ours);
        let floor = claims_and_deletes(&url, batch, jobs).await?;
        let ours = advances(&store, batch, jobs).await?;
        line(
            &format!("claim and settle, batches of {batch}, {WORKERS} loops"),
            floor,
            ours,
        );
    }
    // An old snapshot keeps the server from cleaning up behind the claims, for as long as it is open.
    let mut old = PgConnection::connect(&url).await?;
    let open = "begin isolation level repeatable read; select count(*) from pg_class";
    sqlx::raw_sql(open).execute(&mut old).await?;
    for round in 1..=3 {
        let jobs = 60_000;
        batched_inserts(&url, 1000, jobs).await?;
        let floor = claims_and_deletes(&url, 100, jobs).await?;
        batched_enqueues(&store, 1000, jobs).await?;
        let ours = advances(&store, 100, jobs).await?;
        line(
            &format!("batches of 100 beside an old snapshot, round {round}"),
            floor,
            ours,
        );
    }
    drop(old);
    drop_schema(&url).await
}

fn line(what: &str, floor: f64, ours: f64) {
    println!(
        "{what:44} {floor:>10.0} {ours:>10.0} {:>7.0}%",
        100.0 * ours / floor
    );
}

fn rate(jobs: usize, began: Instant) -> f64 {
    jobs as f64 / began.elapsed().as_secs_f64()
}

fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(0))
}

fn fresh_id() -> JobId {
    let mut random = [0; 10];
    random.fill_with(|| fastrand::u8(..));
    JobId::new(now(), random)
}

async fn execute(url: &str, sql: String) -> Outcome<()> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection)
        .await?;
    Ok(())
}

async fn drop_schema(url: &str) -> Outcome<()> {
    execute(
        url,
        format!("set client_min_messages = warning; drop schema if exists {SCHEMA} cascade"),
    )
    .await
}

async fn lay_floor(url: &str) -> Outcome<()> {
    execute(
        url,
        format!(
            "create table {SCHEMA}.floor (
                id uuid primary key, seq bigint generated always as identity, kind text not null, state text not null,
                payload text not null);
            create index on {SCHEMA}.floor (seq) where state = 'pending'"
        ),
    )
    .await
}

async fn clear(url: &str) -> Outcome<()> {
    execute(url, format!("truncate {SCHEMA}.floor, {SCHEMA}.job")).await
}

/// `callers` loops that share `jobs` rounds of `work`; the rate of rounds.
async fn shared<F, W>(callers: usize, jobs: usize, make: impl Fn() -> F) -> Outcome<f64>
where
    F: Future<Output = Outcome<W>>,
    W: AsyncRound + Send + 'static,
{
    let mut works = Vec::new();
    for _ in 0..callers {
        works.push(make().await?);
    }
    let left = Arc::new(AtomicUsize::new(jobs));
    let began = Instant::now();
    let mut tasks = Vec::new();
    for mut work in works {
        let left = left.clone();
        tasks.push(tokio::spawn(async move {
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(1)
                })
                .is_ok()
            {
                work.round().await?;
            }
            Outcome::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(rate(jobs, began))
}

trait AsyncRound {
    fn round(&mut self) -> impl Future<Output = Outcome<()>> + Send;
}

struct BareInsert(PgConnection);

impl AsyncRound for BareInsert {
    async fn round(&mut self) -> Outcome<()> {
        let sql = AssertSqlSafe(format!(
            "insert into {SCHEMA}.floor (id, kind, state, payload) values ($1, $2, 'pending', $3)"
        ));
        sqlx::query(sql)
            .bind(fresh_id().as_uuid())
            .bind("mail")
            .bind(PAYLOAD)
            .execute(&mut self.0)
            .await?;
        Ok(())
    }
}

async fn bare_inserts(url: &str, callers: usize, jobs: usize) -> Outcome<f64> {
    shared(callers, jobs, || async {
        Ok(BareInsert(PgConnection::connect(url).await?))
    })
    .await
}

struct SingleEnqueue(Arc<PostgresStore>);

impl AsyncRound for SingleEnqueue {
    async fn round(&mut self) -> Outcome<()> {
        self.0.enqueue(&[new_job()?], now()).await?;
        Ok(())
    }
}

async fn single_enqueues(store: &Arc<PostgresStore>, callers: usize, jobs: usize) -> Outcome<f64> {
    shared(callers, jobs, || async { Ok(SingleEnqueue(store.clone())) }).await
}

struct OwnEnqueue(Arc<PostgresStore>, PgConnection);

impl AsyncRound for OwnEnqueue {
    async fn round(&mut self) -> Outcome<()> {
        self.0.enqueue_in(&mut self.1, &new_job()?, now()).await?;
        Ok(())
    }
}

/// A statement for each job, on a connection for each caller, as in the caller's own transaction.
async fn own_enqueues(
    store: &Arc<PostgresStore>,
    url: &str,
    callers: usize,
    jobs: usize,
) -> Outcome<f64> {
    shared(callers, jobs, || async {
        Ok(OwnEnqueue(store.clone(), PgConnection::connect(url).await?))
    })
    .await
}

fn new_job() -> Outcome<NewJob> {
    Ok(NewJob {
        id: fresh_id(),
        tenant: Tenant::single(),
        kind: Kind::new("mail")?,
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::parse(PAYLOAD)?,
        trace: None,
        run_at: None,
        deadline_at: None,
    })
}

async fn batched_inserts(url: &str, batch: usize, jobs: usize) -> Outcome<f64> {
    let mut connection = PgConnection::connect(url).await?;
    let sql = format!(
        "insert into {SCHEMA}.floor (id, kind, state, payload)
        select i.id, i.kind, 'pending', i.payload from unnest($1::uuid[], $2::text[], $3::text[]) i (id, kind, payload)"
    );
    let began = Instant::now();
    for _ in 0..jobs / batch {
        let ids: Vec<Uuid> = (0..batch).map(|_| fresh_id().as_uuid()).collect();
        sqlx::query(AssertSqlSafe(sql.clone()))
            .bind(ids)
            .bind(vec!["mail"; batch])
            .bind(vec![PAYLOAD; batch])
            .execute(&mut connection)
            .await?;
    }
    Ok(rate(jobs, began))
}

async fn batched_enqueues(store: &Arc<PostgresStore>, batch: usize, jobs: usize) -> Outcome<f64> {
    let began = Instant::now();
    for _ in 0..jobs / batch {
        let jobs = (0..batch).map(|_| new_job()).collect::<Outcome<Vec<_>>>()?;
        store.enqueue(&jobs, now()).await?;
    }
    Ok(rate(jobs, began))
}

/// What nobody can do without: take a batch, give it to a worker, delete it.
async fn claims_and_deletes(url: &str, batch: usize, jobs: usize) -> Outcome<f64> {
    let claim = Arc::new(format!(
        "with picked as materialized (
            select id from {SCHEMA}.floor where state = 'pending' order by seq limit $1 for update skip locked)
        update {SCHEMA}.floor f set state = 'running' where f.id = any (array(select id from picked))
        returning f.id, f.kind, f.payload"
    ));
    let delete = Arc::new(format!("delete from {SCHEMA}.floor where id = any ($1)"));
    let done = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..WORKERS {
        let (done, claim, delete) = (done.clone(), claim.clone(), delete.clone());
        let mut connection = PgConnection::connect(url).await?;
        sqlx::raw_sql("set enable_seqscan = off")
            .execute(&mut connection)
            .await?;
        tasks.push(tokio::spawn(async move {
            while done.load(Ordering::Relaxed) < jobs {
                let query = sqlx::query(AssertSqlSafe(claim.clone())).bind(i64::try_from(batch)?);
                let rows = query.fetch_all(&mut connection).await?;
                let ids: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
                done.fetch_add(ids.len(), Ordering::Relaxed);
                sqlx::query(AssertSqlSafe(delete.clone()))
                    .bind(ids)
                    .execute(&mut connection)
                    .await?;
            }
            Outcome::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(rate(jobs, began))
}

/// The engine's own loop without an engine: settle the last batch and claim the next in one call.
async fn advances(store: &Arc<PostgresStore>, batch: usize, jobs: usize) -> Outcome<f64> {
    let done = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut tasks = Vec::new();
    for number in 0..WORKERS {
        let (store, done) = (store.clone(), done.clone());
        let claim = Claim {
            worker: Worker::new(format!("worker-{number}"))?,
            kinds: vec![KindTerms {
                kind: Kind::new("mail")?,
                lease: Duration::from_secs(40),
                recovery: None,
                concurrency_max: None,
                concurrency_per_key_max: None,
            }],
            queues: Queues::All,
            queue_limits: BTreeMap::new(),
            max: u32::try_from(batch)?,
        };
        tasks.push(tokio::spawn(async move {
            let policy = JobPolicy::default();
            let mut settlements = Vec::new();
            loop {
                let wants = done.load(Ordering::Relaxed) < jobs;
                if !wants && settlements.is_empty() {
                    return Outcome::Ok(());
                }
                let at = now();
                let advanced = store
                    .advance(&settlements, wants.then_some(&claim), at)
                    .await?;
                done.fetch_add(advanced.leased.len(), Ordering::Relaxed);
                settlements = advanced
                    .leased
                    .iter()
                    .map(|job| {
                        settle(
                            job,
                            &[],
                            Report::Succeeded(Payload::null()),
                            &policy,
                            now(),
                            Roll(0),
                        )
                    })
                    .collect();
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(rate(jobs, began))
}
