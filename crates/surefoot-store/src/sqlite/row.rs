//! From rows to values of the core. What is read here was checked before it was written; whatever does not read back
//! is a broken invariant that names the column and the value.

use rusqlite::Row;
use rusqlite::types::FromSql;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, NameError, Worker};
use surefoot_core::job::{
    Counts, DeadReason, Death, Job, JobState, LeasedJob, Run, StateName, TraceContext,
};
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::port::By;
use surefoot_core::text::{ErrorFingerprint, ErrorText};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::fault::store_error;

/// The columns of an intent `i`, in the order in which [`intent`] reads them.
macro_rules! intent_columns {
    () => {
        "i.id, i.tenant, i.kind, i.key, i.queue, i.priority, i.order_key, i.concurrency_key, i.payload,
         i.revision, i.generation, i.trace, i.enqueued_at, i.deadline_at"
    };
}

/// The columns of an intent `i` with its job `j` or its history `h`, in the order in which [`job`] reads them.
macro_rules! job_columns {
    () => {
        concat!(
            $crate::sqlite::row::intent_columns!(),
            ", coalesce(j.state, h.state), coalesce(j.starts, h.starts), coalesce(j.failed, h.failed),
             coalesce(j.crashed, h.crashed), coalesce(j.deferred, h.deferred), j.epoch, j.worker, j.started_at,
             j.lease_until, j.recovery, j.cancel_requested, j.due_at, j.error, j.dead_at, j.dead_reason,
             j.fingerprint, h.ended_at, h.reason, h.result, coalesce(j.unknown, h.unknown)"
        )
    };
}

pub(super) use {intent_columns, job_columns};

/// The value of a column.
pub(super) fn column<T: FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(store_error)
}

/// The checked text of a column, such as a [`Worker`].
pub(super) fn name<T>(row: &Row<'_>, index: usize) -> Result<T, StoreError>
where
    T: std::str::FromStr<Err = NameError>,
{
    let text = row
        .get_ref(index)
        .and_then(|value| Ok(value.as_str()?))
        .map_err(store_error)?;
    text.parse()
        .map_err(|fault: NameError| broken(row, index, text, &fault))
}

/// The same where there may be none.
pub(super) fn name_if_any<T>(row: &Row<'_>, index: usize) -> Result<Option<T>, StoreError>
where
    T: std::str::FromStr<Err = NameError>,
{
    match row.get_ref(index).map_err(store_error)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => name(row, index).map(Some),
    }
}

/// The word of a column, such as a [`StateName`].
pub(super) fn word<T>(
    row: &Row<'_>,
    index: usize,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, StoreError> {
    let text = row
        .get_ref(index)
        .and_then(|value| Ok(value.as_str()?))
        .map_err(store_error)?;
    parse(text).ok_or_else(|| broken(row, index, text, &"not one of its words"))
}

/// The id in a column.
pub(super) fn id(row: &Row<'_>, index: usize) -> Result<JobId, StoreError> {
    let bytes: Vec<u8> = column(row, index)?;
    Uuid::from_slice(&bytes)
        .map(JobId::from_uuid)
        .map_err(|fault| broken(row, index, &format!("{bytes:?}"), &fault))
}

/// The time in a column.
pub(super) fn time(row: &Row<'_>, index: usize) -> Result<Timestamp, StoreError> {
    column(row, index).map(Timestamp::from_micros)
}

/// The small number in a column.
pub(super) fn count(row: &Row<'_>, index: usize) -> Result<u32, StoreError> {
    column(row, index)
}

/// The text of a fault or of a reason in a column.
pub(super) fn text(row: &Row<'_>, index: usize) -> Result<ErrorText, StoreError> {
    column::<String>(row, index).map(ErrorText::from)
}

/// Who and why, in two columns.
pub(super) fn by(row: &Row<'_>, actor: usize) -> Result<By, StoreError> {
    Ok(By {
        actor: name(row, actor)?,
        reason: text(row, actor + 1)?,
    })
}

fn broken(row: &Row<'_>, index: usize, value: &str, fault: &dyn std::fmt::Display) -> StoreError {
    let column = row.as_ref().column_name(index).unwrap_or("?").to_owned();
    StoreError::Broken(format!("column {column} holds {value:?}: {fault}"))
}

/// What [`intent_columns`] holds, with nothing known of how it went.
pub(super) fn intent(row: &Row<'_>) -> Result<Job<()>, StoreError> {
    Ok(Job {
        id: id(row, 0)?,
        tenant: name(row, 1)?,
        kind: name(row, 2)?,
        key: name_if_any(row, 3)?,
        queue: name(row, 4)?,
        priority: column(row, 5)?,
        order_key: name_if_any(row, 6)?,
        concurrency_key: name_if_any(row, 7)?,
        payload: Payload::from_store(column(row, 8)?),
        revision: count(row, 9)?,
        generation: count(row, 10)?,
        trace: column::<Option<String>>(row, 11)?
            .as_deref()
            .and_then(TraceContext::parse),
        enqueued_at: time(row, 12)?,
        deadline_at: column::<Option<i64>>(row, 13)?.map(Timestamp::from_micros),
        counts: Counts::default(),
        state: (),
    })
}

/// What [`job_columns`] holds.
pub(super) fn job(row: &Row<'_>) -> Result<Job, StoreError> {
    let intent = intent(row)?;
    let counts = Counts {
        starts: count(row, 15)?,
        failed: count(row, 16)?,
        crashed: count(row, 17)?,
        deferred: count(row, 18)?,
        unknown: count(row, 33)?,
    };
    let state = state(row)?;
    Ok(Job {
        counts,
        ..intent.map_state(|()| state)
    })
}

/// What [`job_columns`] holds of a job that a statement found running.
pub(super) fn leased(row: &Row<'_>) -> Result<LeasedJob, StoreError> {
    job(row)?.into_leased().map_err(|job| {
        StoreError::Broken(format!(
            "job {} is not running, but {}",
            job.id,
            job.state.name().as_str()
        ))
    })
}

fn state(row: &Row<'_>) -> Result<JobState, StoreError> {
    Ok(match word(row, 14, StateName::parse)? {
        StateName::Pending => JobState::Pending {
            due_at: time(row, 25)?,
        },
        StateName::Running => JobState::Running(run(row)?),
        StateName::Retrying => JobState::Retrying {
            due_at: time(row, 25)?,
            error: text(row, 26)?,
        },
        StateName::Verifying => JobState::Verifying {
            due_at: time(row, 25)?,
            error: text(row, 26)?,
        },
        StateName::Succeeded => JobState::Succeeded {
            at: time(row, 30)?,
            result: Payload::from_store(column(row, 32)?),
        },
        StateName::Dead => JobState::Dead(death(row)?),
        StateName::Cancelled => JobState::Cancelled {
            at: time(row, 30)?,
            reason: text(row, 31)?,
        },
        StateName::Ignored => JobState::Ignored {
            at: time(row, 30)?,
            reason: text(row, 31)?,
        },
    })
}

fn run(row: &Row<'_>) -> Result<Run, StoreError> {
    let recovery: Option<String> = column(row, 23)?;
    Ok(Run {
        epoch: Epoch(column(row, 19)?),
        worker: name::<Worker>(row, 20)?,
        started_at: time(row, 21)?,
        lease_until: time(row, 22)?,
        recovery: match recovery {
            None => None,
            Some(_) => Some(word(row, 23, Recovery::parse)?),
        },
        cancel_requested: column(row, 24)?,
    })
}

fn death(row: &Row<'_>) -> Result<Death, StoreError> {
    Ok(Death {
        at: time(row, 27)?,
        reason: word(row, 28, DeadReason::parse)?,
        error: text(row, 26)?,
        fingerprint: ErrorFingerprint::from_bits(column::<i64>(row, 29)?.cast_unsigned()),
    })
}
