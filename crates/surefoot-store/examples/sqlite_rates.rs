//! Measures the SQLite store beside its floor: what the same disk does with bare inserts.
//!
//! `cargo run --release -p surefoot-store --example sqlite_rates [FOLDER]`; the file goes into FOLDER (default: the
//! folder for temporary files) and is removed afterwards. Every commit is flushed to the disk.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use surefoot_core::id::{JobId, Kind, Queue, Tenant, Worker};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{Claim, KindTerms, NewJob, Queues, Store};
use surefoot_core::settle::{Report, Settlement, settle};
use surefoot_core::time::{Roll, Timestamp};
use surefoot_store::sqlite::SqliteStore;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PAYLOAD: &str = r#"{"to":"ada@example.org","template":"receipt","order":"order-184467"}"#;
const PRODUCERS: usize = 64;
const JOBS: usize = 60_000;

#[tokio::main]
async fn main() -> Outcome<()> {
    let folder = match std::env::args().nth(1) {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    println!("file in {}", folder.path().display());
    floor(&folder.path().join("floor.db"))?;
    let store = SqliteStore::open(folder.path().join("surefoot.db")).await?;
    single_enqueues(&store).await?;
    for batch in [100, 1000] {
        run_all(&store, batch, &format!("claim and settle, batch {batch}")).await?;
        enqueue_in_batches(&store).await?;
    }
    run_all(&store, 1000, "claim and settle, batch 1000, more history").await?;
    end_to_end(&store).await
}

fn report(what: &str, count: usize, took: Duration) {
    println!("{what:<48} {:>9.0} /s", count as f64 / took.as_secs_f64());
}

/// Bare inserts of the same payload under a primary key: one commit each, and a thousand to a commit.
fn floor(file: &std::path::Path) -> Outcome<()> {
    let mut connection = Connection::open(file)?;
    connection.query_row("pragma journal_mode = wal", (), |_| Ok(()))?;
    connection.execute_batch(
        "pragma synchronous = full; create table floor (id blob primary key, payload text) without rowid",
    )?;
    for (what, commits, rows) in [
        ("floor: insert, one to a commit", 3000, 1),
        ("floor: insert, 1000 to a commit", 60, 1000),
    ] {
        let begun = Instant::now();
        for _ in 0..commits {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for _ in 0..rows {
                let id = job().id.as_uuid().into_bytes();
                tx.prepare_cached("insert into floor values (?1, ?2)")?
                    .execute((id, PAYLOAD))?;
            }
            tx.commit()?;
        }
        report(what, commits * rows, begun.elapsed());
    }
    Ok(())
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp::MIN.after(since.unwrap_or_default())
}

fn job() -> NewJob {
    let mut random = [0; 10];
    random.fill_with(|| fastrand::u8(..));
    NewJob {
        id: JobId::new(now(), random),
        tenant: Tenant::single(),
        kind: kind(),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::from_store(PAYLOAD.to_owned()),
        trace: None,
        run_at: None,
        deadline_at: None,
    }
}

#[expect(clippy::expect_used, reason = "a literal that is a kind")]
fn kind() -> Kind {
    Kind::new("mail.send").expect("a kind")
}

#[expect(clippy::expect_used, reason = "a literal that is a worker")]
fn claim(max: usize) -> Claim {
    Claim {
        worker: Worker::new("bench").expect("a worker"),
        kinds: vec![KindTerms {
            kind: kind(),
            lease: Duration::from_secs(40),
            recovery: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        }],
        queues: Queues::All,
        queue_limits: BTreeMap::new(),
        max: u32::try_from(max).unwrap_or(u32::MAX),
    }
}

async fn single_enqueues(store: &SqliteStore) -> Outcome<()> {
    let begun = Instant::now();
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|_| tokio::spawn(produce(store.clone())))
        .collect();
    for producer in producers {
        producer.await??;
    }
    let each = JOBS / PRODUCERS;
    report(
        &format!("enqueue one by one, {PRODUCERS} at once"),
        each * PRODUCERS,
        begun.elapsed(),
    );
    Ok(())
}

async fn produce(store: SqliteStore) -> Outcome<()> {
    for _ in 0..JOBS / PRODUCERS {
        store.enqueue(&[job()], now()).await?;
    }
    Ok(())
}

async fn enqueue_in_batches(store: &SqliteStore) -> Outcome<()> {
    let begun = Instant::now();
    for _ in 0..JOBS / 1000 {
        let jobs: Vec<_> = (0..1000).map(|_| job()).collect();
        store.enqueue(&jobs, now()).await?;
    }
    report("enqueue in batches of 1000", JOBS, begun.elapsed());
    Ok(())
}

fn succeeded(leased: &[LeasedJob]) -> Vec<Settlement> {
    let policy = JobPolicy::default();
    let settle = |job| {
        settle(
            job,
            &[],
            Report::Succeeded(Payload::null()),
            &policy,
            now(),
            Roll(0),
        )
    };
    leased.iter().map(settle).collect()
}

/// Claims and settles until nothing waits, two batches under way, each settled with the claim of its next.
async fn run_all(store: &SqliteStore, batch: usize, what: &str) -> Outcome<()> {
    let begun = Instant::now();
    let runners: Vec<_> = (0..2)
        .map(|_| tokio::spawn(run(store.clone(), batch)))
        .collect();
    let mut done = 0;
    for runner in runners {
        done += runner.await??;
    }
    report(what, done, begun.elapsed());
    Ok(())
}

async fn run(store: SqliteStore, batch: usize) -> Outcome<usize> {
    let (mut leased, mut done) = (Vec::new(), 0);
    loop {
        let settlements = succeeded(&leased);
        leased = store
            .advance(&settlements, Some(&claim(batch)), now())
            .await?
            .leased;
        done += settlements.len();
        if leased.is_empty() {
            return Ok(done);
        }
    }
}

/// Producers and runners at once, from the first enqueue to the last settlement.
async fn end_to_end(store: &SqliteStore) -> Outcome<()> {
    let begun = Instant::now();
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|_| tokio::spawn(produce(store.clone())))
        .collect();
    let target = JOBS / PRODUCERS * PRODUCERS;
    let mut done = 0;
    let mut leased = Vec::new();
    while done < target {
        let settlements = succeeded(&leased);
        leased = store
            .advance(&settlements, Some(&claim(1000)), now())
            .await?
            .leased;
        done += settlements.len();
        if leased.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let took = begun.elapsed();
    for producer in producers {
        producer.await??;
    }
    report("end to end: enqueue, claim, settle", done, took);
    Ok(())
}
