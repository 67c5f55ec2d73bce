//! Enqueue: a job is written down, or the one that holds its key is named. The unique indexes decide who was first; it
//! must never look first and insert then.

use rusqlite::Connection;
use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Key, Kind, Tenant};
use surefoot_core::job::StateName;
use surefoot_core::payload::Payload;
use surefoot_core::port::{Enqueued, NewJob};
use surefoot_core::time::Timestamp;

use super::ledger::{Ledger, first};
use super::order_line::{Place, arrive};
use super::row;

statements! {
    INTENT = "-- enqueue: what is asked for, unless its id or its key is there
        insert into surefoot_intent (id, tenant, kind, key, queue, priority, order_key, concurrency_key, trace,
            enqueued_at, deadline_at, payload)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        on conflict do nothing";
    JOB = "-- enqueue: it waits
        insert into surefoot_job (seq, id, tenant, kind, queue, priority, order_key, concurrency_key, deadline_at,
            state, readiness, due_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?11)";
    SAME_ID = "-- enqueue: whether this id is there
        select 1 from surefoot_intent where id = ?1";
    SAME_KEY = "-- enqueue: who holds the key, and with which payload at first
        select i.id, coalesce(r.payload, i.payload)
        from surefoot_intent as i
        left join surefoot_revision as r on r.seq = i.seq and r.number = 0
        where i.key = ?1 and i.tenant = ?2 and i.kind = ?3";
    FIND = "-- find: who holds a key
        select id from surefoot_intent where key = ?1 and tenant = ?2 and kind = ?3";
}

/// Writes a job down.
pub(super) fn enqueue(
    ledger: &Ledger<'_>,
    job: &NewJob,
    now: Timestamp,
) -> Result<Enqueued, StoreError> {
    if write_intent(ledger, job, now)? == 0 {
        return repeated(ledger, job);
    }
    let seq = ledger.connection().last_insert_rowid();
    let place = arrive(ledger, &job.tenant, job.order_key.as_ref())?;
    write_job(ledger, seq, job, place, now)?;
    ledger.moved(&job.queue, &job.kind, None, Some(StateName::Pending));
    Ok(Enqueued::Created(job.id))
}

fn write_intent(ledger: &Ledger<'_>, job: &NewJob, now: Timestamp) -> Result<usize, StoreError> {
    ledger.execute(
        INTENT,
        (
            job.id.as_uuid().into_bytes(),
            job.tenant.as_str(),
            job.kind.as_str(),
            job.key.as_ref().map(|key| key.as_str()),
            job.queue.as_str(),
            job.priority,
            job.order_key.as_ref().map(|key| key.as_str()),
            job.concurrency_key.as_ref().map(|key| key.as_str()),
            job.trace.as_ref().map(|trace| trace.as_str()),
            now.as_micros(),
            job.deadline_at.map(Timestamp::as_micros),
            job.payload.as_str(),
        ),
    )
}

fn write_job(
    ledger: &Ledger<'_>,
    seq: i64,
    job: &NewJob,
    place: Place,
    now: Timestamp,
) -> Result<(), StoreError> {
    ledger.execute_one(
        JOB,
        (
            seq,
            job.id.as_uuid().into_bytes(),
            job.tenant.as_str(),
            job.kind.as_str(),
            job.queue.as_str(),
            job.priority,
            job.order_key.as_ref().map(|key| key.as_str()),
            job.concurrency_key.as_ref().map(|key| key.as_str()),
            job.deadline_at.map(Timestamp::as_micros),
            place.readiness(),
            job.run_at.unwrap_or(now).as_micros(),
        ),
    )
}

/// Nothing was written: the same call again, or another job under a key that is taken.
fn repeated(ledger: &Ledger<'_>, job: &NewJob) -> Result<Enqueued, StoreError> {
    if ledger
        .first(SAME_ID, [job.id.as_uuid().into_bytes()], |_| Ok(()))?
        .is_some()
    {
        return Ok(Enqueued::Created(job.id));
    }
    let key = job.key.as_ref().map(|key| key.as_str());
    let holder = ledger.first(
        SAME_KEY,
        (key, job.tenant.as_str(), job.kind.as_str()),
        |found| {
            Ok((
                row::id(found, 0)?,
                Payload::from_store(row::column(found, 1)?),
            ))
        },
    )?;
    match holder {
        Some((id, payload)) if payload.same_as(&job.payload) => Ok(Enqueued::Existing(id)),
        Some((id, _)) => Ok(Enqueued::Conflict(id)),
        None => Err(StoreError::Broken(format!(
            "job {} was refused by a unique index, but neither its id nor its key is there",
            job.id
        ))),
    }
}

/// The id of the job that holds a key.
pub(super) fn find(
    connection: &Connection,
    tenant: &Tenant,
    kind: &Kind,
    key: &Key,
) -> Result<Option<JobId>, StoreError> {
    let identity = (key.as_str(), tenant.as_str(), kind.as_str());
    first(connection, FIND, identity, |found| row::id(found, 0))
}
