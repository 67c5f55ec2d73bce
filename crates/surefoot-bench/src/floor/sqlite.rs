//! Raw SQLite: one connection that writes, with the same pragmas as the store's.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use surefoot_core::id::JobId;
use surefoot_core::time::Timestamp;

use super::{Floor, PickUp, Told};
use crate::Outcome;
use crate::jobs::payload;
use crate::rounds::per_second;

const PRAGMAS: &str = "
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma wal_autocheckpoint = 4000;
    pragma journal_size_limit = 67108864;
    pragma cache_size = -65536;
    pragma temp_store = memory;
    pragma busy_timeout = 10000;";
const TABLE: &str = "-- floor: an empty table
    create table raw_job (
        seq integer primary key autoincrement,
        id blob not null,
        tenant text not null,
        kind text not null,
        queue text not null,
        priority integer not null,
        state text not null,
        due_at integer not null,
        enqueued_at integer not null,
        payload text not null
    ) strict";
const INSERT: &str = "-- floor: one row
    insert into raw_job (id, tenant, kind, queue, priority, state, due_at, enqueued_at, payload)
    values (?1, 'default', 'noop', 'default', 0, 'pending', ?2, ?2, ?3)";
const READY: &str = "-- floor: what a claim looks for
    create index raw_job_ready on raw_job (seq) where state = 'pending'";
const CLAIM: &str = "-- floor: take a batch
    update raw_job set state = 'running' where seq in (
        select seq from raw_job where state = 'pending' order by seq limit ?1)
    returning seq, payload";
const DELETE: &str = "-- floor: done
    delete from raw_job where seq = ?1";

/// How long two samples of a latency lie apart, so that the worker is idle again.
const BETWEEN_SAMPLES: std::ops::Range<u64> = 10..20;

/// Raw statements on a file of its own.
pub(crate) struct SqliteFloor {
    path: PathBuf,
}

impl SqliteFloor {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || work(&path)).await?
    }
}

#[async_trait]
impl Floor for SqliteFloor {
    /// SQLite has one writer, so more tasks only wait for one another: one connection is the best it does.
    async fn insert_single(&self, _tasks: usize, lasts: Duration) -> Outcome<f64> {
        self.blocking(move |path| {
            let mut connection = fresh(path)?;
            let begun = Instant::now();
            let mut rows = 0;
            while begun.elapsed() < lasts {
                insert(&mut connection, 1, 1)?;
                rows += 1;
            }
            Ok(per_second(rows, begun.elapsed()))
        })
        .await
    }

    async fn insert_batches(&self, batch: usize, rows: usize) -> Outcome<f64> {
        self.blocking(move |path| {
            let mut connection = fresh(path)?;
            let begun = Instant::now();
            insert(&mut connection, batch, rows)?;
            Ok(per_second(rows, begun.elapsed()))
        })
        .await
    }

    async fn claim_and_delete(&self, batch: usize, rows: usize) -> Outcome<f64> {
        self.blocking(move |path| {
            let mut connection = fresh(path)?;
            insert(&mut connection, 1000, rows)?;
            connection.execute_batch(READY)?;
            let begun = Instant::now();
            let mut done = 0;
            while done < rows {
                let taken = claim(&mut connection, batch)?;
                delete(&mut connection, &taken)?;
                done += taken.len();
            }
            Ok(per_second(rows, begun.elapsed()))
        })
        .await
    }

    async fn pick_up(&self, _told: Told, samples: usize) -> Outcome<PickUp> {
        self.blocking(move |path| {
            let mut connection = fresh(path)?;
            connection.execute_batch(READY)?;
            let mut worker = open(path)?;
            let (tell, told) = mpsc::channel::<()>();
            let (say, begun) = mpsc::channel::<Instant>();
            let working = std::thread::spawn(move || -> Outcome<()> {
                while told.recv().is_ok() {
                    let taken = claim(&mut worker, 1)?;
                    say.send(Instant::now())?;
                    delete(&mut worker, &taken)?;
                }
                Ok(())
            });
            let mut seen = PickUp::default();
            for _ in 0..samples {
                std::thread::sleep(Duration::from_millis(fastrand::u64(BETWEEN_SAMPLES)));
                let called = Instant::now();
                insert(&mut connection, 1, 1)?;
                let answered = Instant::now();
                tell.send(())?;
                let begun = begun.recv()?;
                seen.from_call.add(begun - called);
                seen.from_answer.add(begun - answered);
            }
            drop(tell);
            working
                .join()
                .map_err(|_| "the worker of the floor panicked")??;
            Ok(seen)
        })
        .await
    }
}

/// A connection to a new file with an empty table.
fn fresh(path: &Path) -> Outcome<Connection> {
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        if Path::new(&file).exists() {
            std::fs::remove_file(&file)?;
        }
    }
    let connection = open(path)?;
    connection.execute_batch(TABLE)?;
    Ok(connection)
}

pub(super) fn open(path: &Path) -> Outcome<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(PRAGMAS)?;
    Ok(connection)
}

fn insert(connection: &mut Connection, batch: usize, rows: usize) -> Outcome<()> {
    let mut number = 0;
    while number < rows {
        let transaction = begin(connection)?;
        for _ in 0..batch.min(rows - number) {
            let now = Timestamp::from_micros(1_790_000_000_000_000);
            let mut random = [0; 10];
            random.fill_with(|| fastrand::u8(..));
            let id = JobId::new(now, random).as_uuid().into_bytes();
            transaction.prepare_cached(INSERT)?.execute((
                id,
                now.as_micros(),
                payload(number as u64)?,
            ))?;
            number += 1;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn claim(connection: &mut Connection, batch: usize) -> Outcome<Vec<i64>> {
    let transaction = begin(connection)?;
    let mut taken = Vec::with_capacity(batch);
    {
        let mut statement = transaction.prepare_cached(CLAIM)?;
        let mut rows = statement.query([batch as i64])?;
        while let Some(row) = rows.next()? {
            let _payload: String = row.get(1)?;
            taken.push(row.get(0)?);
        }
    }
    transaction.commit()?;
    if taken.is_empty() {
        return Err("the floor found nothing to claim".into());
    }
    Ok(taken)
}

fn delete(connection: &mut Connection, taken: &[i64]) -> Outcome<()> {
    let transaction = begin(connection)?;
    for seq in taken {
        transaction.prepare_cached(DELETE)?.execute([seq])?;
    }
    transaction.commit()?;
    Ok(())
}

fn begin(connection: &mut Connection) -> Outcome<Transaction<'_>> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
