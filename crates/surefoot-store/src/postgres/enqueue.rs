//! Enqueue: one statement for a batch of any size. The database says which keys were taken; whether a payload is the same
//! is said here, by canonical form.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Key, Kind, Tenant};
use surefoot_core::payload::Payload;
use surefoot_core::port::{BATCH_MAX, Enqueued, NewJob};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::{Caller, Statement};
use super::fault::{Fault, broken};
use super::row::column;

statements! {
    ENQUEUE = "-- enqueue
        select place, holder, same, payload
        from surefoot.enqueue_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
    ENQUEUE_ONE = "-- enqueue: one job without a key
        insert into surefoot.job (
            id, tenant, kind, queue, urgency, order_key, concurrency_key, payload, trace, enqueued_at, deadline_at,
            readiness, due_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, surefoot.standing($6, $7, $12, $10), $12)
        on conflict (id) do nothing
        returning surefoot.is_repeated(id)";
    ENQUEUE_KEYED = "-- enqueue: one job with a key
        with claimed as (
            insert into surefoot.job_key (key, kind, tenant, job) values ($13, $3, $2, $1)
            on conflict (key, kind, tenant) do nothing returning job)
        insert into surefoot.job (
            id, tenant, kind, queue, urgency, order_key, concurrency_key, payload, trace, enqueued_at, deadline_at,
            readiness, due_at, key)
        select c.job, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, surefoot.standing($6, $7, $12, $10), $12, $13
        from claimed c
        on conflict (id) do nothing
        returning id";
    FIND = "-- find
        select job from surefoot.job_key where key = $1 and kind = $2 and tenant = $3";
}

/// The most bytes of payloads in one statement; a batch with more is written in several.
pub(super) const STATEMENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How often an item is handed in again whose key was freed between two looks at it.
const TRIES_MAX: usize = 10;

/// How long a batch waits for a key that another open transaction holds.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    /// As long as the verb may take.
    Full,
    /// So briefly that the others in the batch do not suffer; the whole batch then ends with SQLSTATE 55P03.
    Short,
}

/// A job and when it was handed in.
pub(super) type Item<'a> = (&'a NewJob, Timestamp);

/// Writes a batch down. Answers stand in its order.
pub(super) async fn enqueue(
    caller: &Caller,
    items: &[Item<'_>],
    patience: Patience,
) -> Result<Vec<Enqueued>, StoreError> {
    if let [item] = items {
        let rows = caller.rows(bind_one(caller, *item)).await?;
        if written(item.0, &rows) {
            return Ok(vec![Enqueued::Created(item.0.id)]);
        }
    }
    let mut answers = Vec::with_capacity(items.len());
    for part in parts(items) {
        let mut batch = Batch::new(part);
        while let Some(todo) = batch.todo()? {
            let rows = caller
                .rows(bind(caller.statement(ENQUEUE), &todo, patience))
                .await?;
            batch.told(&rows)?;
        }
        answers.extend(batch.answers);
    }
    Ok(answers)
}

/// Writes one job down on the caller's connection.
pub(super) async fn enqueue_in(
    caller: &Caller,
    connection: &mut PgConnection,
    job: &NewJob,
    now: Timestamp,
) -> Result<Enqueued, StoreError> {
    let fault = |error| Fault::of(error).error;
    let rows = bind_one(caller, (job, now))
        .fetch_all(&mut *connection)
        .await
        .map_err(fault)?;
    if written(job, &rows) {
        return Ok(Enqueued::Created(job.id));
    }
    let items = [(job, now)];
    let mut batch = Batch::new(&items);
    while let Some(todo) = batch.todo()? {
        let statement = bind(caller.statement(ENQUEUE), &todo, Patience::Full);
        let rows = statement.fetch_all(&mut *connection).await.map_err(fault)?;
        batch.told(&rows)?;
    }
    Ok(batch.answers[0])
}

/// Whether nothing is left to ask: a job without a key is there, now or from an earlier run of the same call; one with a
/// key is when its row came back, and else the batch says who holds the key.
fn written(job: &NewJob, rows: &[PgRow]) -> bool {
    job.key.is_none() || !rows.is_empty()
}

/// A batch on its way: what is to be handed in (again), and what is answered.
struct Batch<'i, 'a> {
    items: &'i [Item<'a>],
    /// Places of items without an answer that holds.
    open: Vec<usize>,
    tries: usize,
    answers: Vec<Enqueued>,
}

impl<'i, 'a> Batch<'i, 'a> {
    fn new(items: &'i [Item<'a>]) -> Self {
        let answers = items
            .iter()
            .map(|(job, _)| Enqueued::Created(job.id))
            .collect();
        Self {
            items,
            open: (0..items.len()).collect(),
            tries: 0,
            answers,
        }
    }

    fn todo(&mut self) -> Result<Option<Vec<Item<'a>>>, StoreError> {
        if self.open.is_empty() {
            return Ok(None);
        }
        self.tries += 1;
        if self.tries > TRIES_MAX {
            return Err(StoreError::Unavailable(
                "a key changes hands too fast".into(),
            ));
        }
        Ok(Some(
            self.open.iter().map(|place| self.items[*place]).collect(),
        ))
    }

    /// Notes who holds the keys of items that were not written.
    fn told(&mut self, rows: &[PgRow]) -> Result<(), StoreError> {
        let mut again = Vec::new();
        for row in rows {
            let number: i32 = column(row, "place")?;
            let place = usize::try_from(number - 1)
                .ok()
                .and_then(|at| self.open.get(at))
                .copied();
            let place =
                place.ok_or_else(|| broken(format_args!("enqueue answers for item {number}")))?;
            match column::<Option<Uuid>>(row, "holder")? {
                None => again.push(place),
                Some(holder) => self.answers[place] = refused(row, holder, self.items[place].0)?,
            }
        }
        self.open = again;
        Ok(())
    }
}

/// What is said of a job whose key another one holds.
fn refused(row: &PgRow, holder: Uuid, job: &NewJob) -> Result<Enqueued, StoreError> {
    let holder = JobId::from_uuid(holder);
    let same = column::<Option<bool>>(row, "same")?.unwrap_or(false)
        || column::<Option<String>>(row, "payload")?
            .is_some_and(|first| Payload::from_store(first).same_as(&job.payload));
    Ok(if same {
        Enqueued::Existing(holder)
    } else {
        Enqueued::Conflict(holder)
    })
}

/// The id of the job that holds a key.
pub(super) async fn find(
    caller: &Caller,
    tenant: &Tenant,
    kind: &Kind,
    key: &Key,
) -> Result<Option<JobId>, StoreError> {
    let statement = caller
        .statement(FIND)
        .bind(key.as_str())
        .bind(kind.as_str())
        .bind(tenant.as_str());
    let rows = caller.rows(statement).await?;
    rows.first()
        .map(|row| column::<Uuid>(row, "job").map(JobId::from_uuid))
        .transpose()
}

/// The batch in parts of bounded size.
fn parts<'i, 'a>(items: &'i [Item<'a>]) -> Vec<&'i [Item<'a>]> {
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (place, (job, _)) in items.iter().enumerate() {
        bytes += job.payload.as_str().len();
        if place > start && (bytes > STATEMENT_BYTES_MAX || place - start == BATCH_MAX) {
            parts.push(&items[start..place]);
            (start, bytes) = (place, job.payload.as_str().len());
        }
    }
    if start < items.len() {
        parts.push(&items[start..]);
    }
    parts
}

/// One job by the plainest statement there is for it.
fn bind_one<'q>(caller: &Caller, (job, now): Item<'_>) -> Statement<'q> {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let sql = if job.key.is_some() {
        ENQUEUE_KEYED
    } else {
        ENQUEUE_ONE
    };
    let statement = caller
        .statement(sql)
        .bind(job.id.as_uuid())
        .bind(job.tenant.as_str().to_owned())
        .bind(job.kind.as_str().to_owned())
        .bind(job.queue.as_str().to_owned())
        .bind(-job.priority)
        .bind(text(job.order_key.as_ref().map(|key| key.as_str())))
        .bind(text(job.concurrency_key.as_ref().map(|key| key.as_str())))
        .bind(job.payload.as_str().to_owned())
        .bind(text(job.trace.as_ref().map(|trace| trace.as_str())))
        .bind(now.as_micros())
        .bind(job.deadline_at.map(Timestamp::as_micros))
        .bind(job.run_at.unwrap_or(now).as_micros());
    match &job.key {
        Some(key) => statement.bind(key.as_str().to_owned()),
        None => statement,
    }
}

fn bind<'q>(statement: Statement<'q>, items: &[Item<'_>], patience: Patience) -> Statement<'q> {
    fn each<'a, T>(items: &[Item<'a>], of: impl Fn(&'a NewJob) -> T) -> Vec<T> {
        items.iter().map(|(job, _)| of(job)).collect()
    }
    let free = || {
        items
            .iter()
            .filter(|(job, _)| job.key.is_none())
            .map(|(job, _)| job.id.as_uuid())
    };
    statement
        .bind(each(items, |job| job.id.as_uuid()))
        .bind(each(items, |job| job.tenant.as_str()))
        .bind(each(items, |job| job.kind.as_str()))
        .bind(each(items, |job| job.key.as_ref().map(Key::as_str)))
        .bind(each(items, |job| job.queue.as_str()))
        .bind(each(items, |job| job.priority))
        .bind(each(items, |job| {
            job.order_key.as_ref().map(|key| key.as_str())
        }))
        .bind(each(items, |job| {
            job.concurrency_key.as_ref().map(|key| key.as_str())
        }))
        .bind(each(items, |job| job.payload.as_str()))
        .bind(each(items, |job| {
            job.trace.as_ref().map(|trace| trace.as_str())
        }))
        .bind(each(items, |job| job.run_at.map(Timestamp::as_micros)))
        .bind(each(items, |job| job.deadline_at.map(Timestamp::as_micros)))
        .bind(
            items
                .iter()
                .map(|(_, now)| now.as_micros())
                .collect::<Vec<_>>(),
        )
        .bind(free().min())
        .bind(free().max())
        .bind(match patience {
            Patience::Full => None,
            Patience::Short => Some("100ms"),
        })
}
