//! Raw PostgreSQL through the same driver as the store, each statement its own durable commit unless batched.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, PgPool, Row as _};
use surefoot_core::id::JobId;
use surefoot_core::time::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Floor, PickUp, Told};
use crate::Outcome;
use crate::jobs::payload;
use crate::rounds::per_second;

const DROP: &str = "-- floor: no table
    drop table if exists raw_job";
const TABLE: &str = "-- floor: an empty table
    create table raw_job (
        seq bigint generated always as identity primary key,
        id uuid not null,
        tenant text not null,
        kind text not null,
        queue text not null,
        priority smallint not null,
        state text not null,
        due_at bigint not null,
        enqueued_at bigint not null,
        payload text not null
    )";
const INSERT: &str = "-- floor: one row
    insert into raw_job (id, tenant, kind, queue, priority, state, due_at, enqueued_at, payload)
    values ($1, 'default', 'noop', 'default', 0, 'pending', $2, $2, $3)";
const INSERT_BATCH: &str = "-- floor: a batch
    insert into raw_job (id, tenant, kind, queue, priority, state, due_at, enqueued_at, payload)
    select row.id, 'default', 'noop', 'default', 0, 'pending', $2, $2, row.payload
    from unnest($1::uuid[], $3::text[]) as row (id, payload)";
const READY: &str = "-- floor: what a claim looks for
    create index raw_job_ready on raw_job (seq) where state = 'pending'";
const ANALYZE: &str = "-- floor: as autovacuum would
    analyze raw_job";
const CLAIM: &str = "-- floor: take a batch
    with due as materialized (
        select seq from raw_job where state = 'pending' order by seq limit $1 for update skip locked)
    update raw_job set state = 'running' where seq = any(array(select seq from due))
    returning seq, payload";
const DELETE: &str = "-- floor: done
    delete from raw_job where seq = any($1)";
const NOTIFY: &str = "-- floor: tell the worker
    select pg_notify('raw_job', '')";
const CHANNEL: &str = "raw_job";

/// How long two samples of a latency lie apart, so that the worker is idle again.
const BETWEEN_SAMPLES: std::ops::Range<u64> = 10..20;

/// Raw statements on a database of its own.
pub(crate) struct PostgresFloor {
    options: PgConnectOptions,
}

impl PostgresFloor {
    pub(crate) const fn new(options: PgConnectOptions) -> Self {
        Self { options }
    }

    /// A pool of so many open connections, over an empty table.
    async fn fresh(&self, connections: usize) -> Outcome<PgPool> {
        let connections = u32::try_from(connections)?;
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .min_connections(connections)
            .test_before_acquire(false)
            .connect_with(self.options.clone())
            .await?;
        sqlx::query(DROP).execute(&pool).await?;
        sqlx::query(TABLE).execute(&pool).await?;
        Ok(pool)
    }

    async fn connection(&self) -> Outcome<PgConnection> {
        Ok(PgConnection::connect_with(&self.options).await?)
    }
}

#[async_trait]
impl Floor for PostgresFloor {
    async fn insert_single(&self, tasks: usize, lasts: Duration) -> Outcome<f64> {
        let pool = self.fresh(tasks).await?;
        let mut connections = Vec::new();
        for _ in 0..tasks {
            connections.push(pool.acquire().await?);
        }
        let begun = Instant::now();
        let mut working = JoinSet::new();
        for mut connection in connections {
            working.spawn(async move {
                let mut rows = 0;
                while begun.elapsed() < lasts {
                    insert_one(&mut connection, rows).await?;
                    rows += 1;
                }
                Outcome::Ok(rows)
            });
        }
        let mut rows = 0;
        while let Some(worked) = working.join_next().await {
            rows += worked??;
        }
        let rate = per_second(rows, begun.elapsed());
        pool.close().await;
        Ok(rate)
    }

    async fn insert_batches(&self, batch: usize, rows: usize) -> Outcome<f64> {
        let pool = self.fresh(1).await?;
        let begun = Instant::now();
        insert_batches(&pool, batch, rows).await?;
        let rate = per_second(rows, begun.elapsed());
        pool.close().await;
        Ok(rate)
    }

    async fn claim_and_delete(&self, batch: usize, rows: usize) -> Outcome<f64> {
        let pool = self.fresh(1).await?;
        insert_batches(&pool, 1000, rows).await?;
        sqlx::query(READY).execute(&pool).await?;
        sqlx::query(ANALYZE).execute(&pool).await?;
        let mut worker = pool.acquire().await?;
        let begun = Instant::now();
        let mut done = 0;
        while done < rows {
            let taken = claim(&mut worker, batch).await?;
            sqlx::query(DELETE)
                .bind(&taken)
                .execute(&mut *worker)
                .await?;
            done += taken.len();
        }
        let rate = per_second(rows, begun.elapsed());
        drop(worker);
        pool.close().await;
        Ok(rate)
    }

    async fn pick_up(&self, told: Told, samples: usize) -> Outcome<PickUp> {
        let pool = self.fresh(1).await?;
        sqlx::query(READY).execute(&pool).await?;
        pool.close().await;
        let mut caller = self.connection().await?;
        let (signal, signals) = mpsc::channel(1);
        let (begun, mut begins) = mpsc::channel(1);
        let worker = self.connection().await?;
        let working = match told {
            Told::InProcess => tokio::spawn(work_when_signalled(worker, signals, begun)),
            Told::ByDatabase => {
                let pool = PgPoolOptions::new()
                    .max_connections(1)
                    .connect_with(self.options.clone())
                    .await?;
                let mut listener = PgListener::connect_with(&pool).await?;
                listener.listen(CHANNEL).await?;
                tokio::spawn(work_when_notified(worker, listener, begun))
            }
        };
        let mut seen = PickUp::default();
        for number in 0..samples {
            tokio::time::sleep(Duration::from_millis(fastrand::u64(BETWEEN_SAMPLES))).await;
            let called = Instant::now();
            insert_one(&mut caller, number).await?;
            let answered = Instant::now();
            match told {
                Told::InProcess => signal.send(()).await?,
                Told::ByDatabase => {
                    sqlx::query(NOTIFY).execute(&mut caller).await?;
                }
            }
            let begun: Instant = begins.recv().await.ok_or("the worker of the floor ended")?;
            seen.from_call.add(begun - called);
            seen.from_answer
                .add(begun.saturating_duration_since(answered));
        }
        working.abort();
        caller.close().await?;
        Ok(seen)
    }
}

async fn work_when_signalled(
    mut worker: PgConnection,
    mut signals: mpsc::Receiver<()>,
    begun: mpsc::Sender<Instant>,
) -> Outcome<()> {
    while signals.recv().await.is_some() {
        work(&mut worker, &begun).await?;
    }
    Ok(())
}

async fn work_when_notified(
    mut worker: PgConnection,
    mut listener: PgListener,
    begun: mpsc::Sender<Instant>,
) -> Outcome<()> {
    loop {
        listener.recv().await?;
        work(&mut worker, &begun).await?;
    }
}

async fn work(worker: &mut PgConnection, begun: &mpsc::Sender<Instant>) -> Outcome<()> {
    let taken = claim(worker, 1).await?;
    begun.send(Instant::now()).await?;
    sqlx::query(DELETE).bind(&taken).execute(worker).await?;
    Ok(())
}

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

fn id() -> JobId {
    let mut random = [0; 10];
    random.fill_with(|| fastrand::u8(..));
    JobId::new(NOW, random)
}

async fn insert_one(connection: &mut PgConnection, number: usize) -> Outcome<()> {
    sqlx::query(INSERT)
        .bind(id().as_uuid())
        .bind(NOW.as_micros())
        .bind(payload(number as u64)?)
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert_batches(pool: &PgPool, batch: usize, rows: usize) -> Outcome<()> {
    let mut connection = pool.acquire().await?;
    for first in (0..rows).step_by(batch) {
        let numbers = first..rows.min(first + batch);
        let ids: Vec<_> = numbers.clone().map(|_| id().as_uuid()).collect();
        let payloads = numbers
            .map(|number| payload(number as u64))
            .collect::<Outcome<Vec<_>>>()?;
        sqlx::query(INSERT_BATCH)
            .bind(&ids)
            .bind(NOW.as_micros())
            .bind(&payloads)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

async fn claim(connection: &mut PgConnection, batch: usize) -> Outcome<Vec<i64>> {
    let rows = sqlx::query(CLAIM)
        .bind(i64::try_from(batch)?)
        .fetch_all(connection)
        .await?;
    let mut taken = Vec::with_capacity(rows.len());
    for row in rows {
        let _payload: String = row.try_get(1)?;
        taken.push(row.try_get(0)?);
    }
    if taken.is_empty() {
        return Err("the floor found nothing to claim".into());
    }
    Ok(taken)
}
