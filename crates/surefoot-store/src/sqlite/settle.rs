//! Settle: a running job leaves its state as core decided, under the fence that stands in the decision, and its attempt
//! goes on record. A settlement whose fence does not hold must never write anything.

use std::borrow::Cow;

use rusqlite::Row;
use surefoot_core::error::StoreError;
use surefoot_core::id::{ConcurrencyKey, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::{AttemptOutcome, Death, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::port::Settled;
use surefoot_core::settle::{Next, Settlement};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::claim::crowd;
use super::ledger::Ledger;
use super::order_line;
use super::row;

/// The fence, over ?1 id, ?2 epoch and ?3 the time before which the lease must have ended.
macro_rules! fenced {
    ($write:literal) => {
        concat!($write, fenced!())
    };
    () => {
        " where seq = (select seq from surefoot_intent where id = ?1)
            and epoch = ?2 and state = 'running' and lease_until < ?3"
    };
}

/// What a settlement needs to know of the job, in the order in which [`held`] reads it.
macro_rules! held_columns {
    () => {
        " seq, tenant, kind, queue, order_key, concurrency_key, starts, worker, started_at,
          cancel_requested"
    };
}

statements! {
    END = concat!("-- settle: the job ends and leaves the table of what waits and runs
        delete from surefoot_job", fenced!(), " returning", held_columns!());
    HELD = concat!("-- settle: the attempt that is about to end
        select", held_columns!(), " from surefoot_job
        where seq = (select seq from surefoot_intent where id = ?1) and state = 'running'");
    WAIT = fenced!("-- settle: the job waits again
        update surefoot_job set state = ?4, readiness = 'ready', due_at = ?5, error = ?6,
            starts = ?7, failed = ?8, crashed = ?9, deferred = ?10, unknown = ?11,
            lease_until = null, worker = null, started_at = null, recovery = null");
    DIE = fenced!("-- settle: the job becomes a dead letter
        update surefoot_job set state = 'dead', dead_at = ?4, dead_reason = ?5, fingerprint = ?6, error = ?7,
            starts = ?8, failed = ?9, crashed = ?10, deferred = ?11, unknown = ?12,
            lease_until = null, worker = null, started_at = null, recovery = null, cancel_requested = 0");
    HISTORY = "-- settle: what ended is appended to history
        insert into surefoot_job_history (seq, id, state, ended_at, starts, failed, crashed, deferred, unknown,
            reason, result)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    ATTEMPT = "-- settle: the attempt goes on record
        insert into surefoot_attempt (seq, epoch, number, worker, started_at, ended_at, outcome, error)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    RECORDED = "-- settle: how the attempt of an epoch ended
        select outcome from surefoot_attempt
        where seq = (select seq from surefoot_intent where id = ?1) and epoch = ?2";
    PARK_GIVEN_BACK = "-- settle: a job that was given back goes behind an earlier one
        update surefoot_job set readiness = 'parked' where seq = ?1 and state = 'pending' and epoch = ?2";
}

/// What a settlement found running.
struct Held {
    seq: i64,
    tenant: Tenant,
    kind: Kind,
    queue: Queue,
    order_key: Option<OrderKey>,
    concurrency_key: Option<ConcurrencyKey>,
    starts: u32,
    worker: String,
    started_at: i64,
    cancel_requested: bool,
}

/// Applies a settlement.
pub(super) fn settle(ledger: &Ledger<'_>, settlement: &Settlement) -> Result<Settled, StoreError> {
    let settlement = &*in_force(ledger, settlement)?;
    let (held, to) = match &settlement.next {
        Next::Pending { due_at } => {
            let to = StateName::Pending;
            (wait(ledger, settlement, to, *due_at, None)?, Some(to))
        }
        Next::Retrying { due_at, error } => {
            let to = StateName::Retrying;
            (
                wait(ledger, settlement, to, *due_at, Some(error))?,
                Some(to),
            )
        }
        Next::Verifying { due_at, error } => {
            let to = StateName::Verifying;
            (
                wait(ledger, settlement, to, *due_at, Some(error))?,
                Some(to),
            )
        }
        Next::Dead(death) => (die(ledger, settlement, death)?, Some(StateName::Dead)),
        Next::Succeeded { at, result } => (end(ledger, settlement, *at, Ok(result))?, None),
        Next::Cancelled { at, reason } => (end(ledger, settlement, *at, Err(reason))?, None),
    };
    let Some(held) = held else {
        return repeated(ledger, settlement);
    };
    record(ledger, settlement, &held)?;
    arrange(ledger, settlement, &held)?;
    ledger.moved(&held.queue, &held.kind, Some(StateName::Running), to);
    Ok(Settled::Applied)
}

/// The settlement, or a cancellation where the job would wait again but was asked to stop, of which its holder may not
/// have heard. What may have happened is not withdrawn: the request stays, and the next holder is told.
fn in_force<'a>(
    ledger: &Ledger<'_>,
    settlement: &'a Settlement,
) -> Result<Cow<'a, Settlement>, StoreError> {
    let waits = matches!(
        settlement.next,
        Next::Pending { .. } | Next::Retrying { .. }
    );
    if !waits || settlement.counts.unknown > 0 {
        return Ok(Cow::Borrowed(settlement));
    }
    let held = ledger.first(HELD, [settlement.job.as_uuid().into_bytes()], held)?;
    if !held.is_some_and(|held| held.cancel_requested) {
        return Ok(Cow::Borrowed(settlement));
    }
    let reason = settlement.error.clone();
    Ok(Cow::Owned(Settlement {
        next: Next::Cancelled {
            at: settlement.ended_at,
            reason: reason.unwrap_or_else(|| ErrorText::from("cancelled on request")),
        },
        ..settlement.clone()
    }))
}

/// The time before which the lease must have ended; without one, any lease has.
fn lapsed_before(settlement: &Settlement) -> i64 {
    settlement
        .fence
        .lapsed_before
        .map_or(i64::MAX, Timestamp::as_micros)
}

fn wait(
    ledger: &Ledger<'_>,
    settlement: &Settlement,
    to: StateName,
    due_at: Timestamp,
    error: Option<&ErrorText>,
) -> Result<Option<Held>, StoreError> {
    let id = settlement.job.as_uuid().into_bytes();
    let held = ledger.first(HELD, [id], held)?;
    let waits = ledger.execute(
        WAIT,
        (
            id,
            settlement.fence.epoch.0,
            lapsed_before(settlement),
            to.as_str(),
            due_at.as_micros(),
            error.map(ErrorText::as_str),
            settlement.counts.starts,
            settlement.counts.failed,
            settlement.counts.crashed,
            settlement.counts.deferred,
            settlement.counts.unknown,
        ),
    )?;
    Ok(held.filter(|_| waits > 0))
}

fn die(
    ledger: &Ledger<'_>,
    settlement: &Settlement,
    death: &Death,
) -> Result<Option<Held>, StoreError> {
    let id = settlement.job.as_uuid().into_bytes();
    let held = ledger.first(HELD, [id], held)?;
    let died = ledger.execute(
        DIE,
        (
            id,
            settlement.fence.epoch.0,
            lapsed_before(settlement),
            death.at.as_micros(),
            death.reason.as_str(),
            death.fingerprint.to_bits().cast_signed(),
            death.error.as_str(),
            settlement.counts.starts,
            settlement.counts.failed,
            settlement.counts.crashed,
            settlement.counts.deferred,
            settlement.counts.unknown,
        ),
    )?;
    Ok(held.filter(|_| died > 0))
}

fn end(
    ledger: &Ledger<'_>,
    settlement: &Settlement,
    at: Timestamp,
    how: Result<&Payload, &ErrorText>,
) -> Result<Option<Held>, StoreError> {
    let fence = (
        settlement.job.as_uuid().into_bytes(),
        settlement.fence.epoch.0,
        lapsed_before(settlement),
    );
    let Some(held) = ledger.first(END, fence, held)? else {
        return Ok(None);
    };
    let state = if how.is_ok() {
        StateName::Succeeded
    } else {
        StateName::Cancelled
    };
    ledger.execute_one(
        HISTORY,
        (
            held.seq,
            settlement.job.as_uuid().into_bytes(),
            state.as_str(),
            at.as_micros(),
            settlement.counts.starts,
            settlement.counts.failed,
            settlement.counts.crashed,
            settlement.counts.deferred,
            settlement.counts.unknown,
            how.err().map(ErrorText::as_str),
            how.ok().map(Payload::as_str),
        ),
    )?;
    Ok(Some(held))
}

fn record(ledger: &Ledger<'_>, settlement: &Settlement, held: &Held) -> Result<(), StoreError> {
    ledger.execute_one(
        ATTEMPT,
        (
            held.seq,
            settlement.fence.epoch.0,
            held.starts,
            held.worker.as_str(),
            held.started_at,
            settlement.ended_at.as_micros(),
            settlement.outcome.as_str(),
            settlement.error.as_ref().map(ErrorText::as_str),
        ),
    )
}

/// Keeps the line of the order key and the crowd of the concurrency key as they must be after the job stopped running.
fn arrange(ledger: &Ledger<'_>, settlement: &Settlement, held: &Held) -> Result<(), StoreError> {
    if let Some(key) = &held.concurrency_key {
        crowd::recount(ledger, &held.kind, &held.tenant, key)?;
    }
    let order_key = held.order_key.as_ref();
    match &settlement.next {
        // A retry holds its key, and so does what is asked about.
        Next::Retrying { .. } | Next::Verifying { .. } => Ok(()),
        Next::Pending { .. } => {
            if order_line::is_preceded(ledger, held.seq, &held.tenant, order_key)? {
                ledger.execute_one(PARK_GIVEN_BACK, (held.seq, settlement.fence.epoch.0))?;
                order_line::move_up(ledger, &held.tenant, order_key)?;
            }
            Ok(())
        }
        Next::Succeeded { .. } | Next::Dead(_) | Next::Cancelled { .. } => {
            order_line::move_up(ledger, &held.tenant, order_key)
        }
    }
}

/// The fence does not hold: the same settlement once more, or one that came too late.
fn repeated(ledger: &Ledger<'_>, settlement: &Settlement) -> Result<Settled, StoreError> {
    let attempt = (
        settlement.job.as_uuid().into_bytes(),
        settlement.fence.epoch.0,
    );
    let recorded = ledger.first(RECORDED, attempt, |found| {
        row::word(found, 0, AttemptOutcome::parse)
    })?;
    if recorded == Some(settlement.outcome) {
        Ok(Settled::Already)
    } else {
        Ok(Settled::Stale)
    }
}

fn held(found: &Row<'_>) -> Result<Held, StoreError> {
    Ok(Held {
        seq: row::column(found, 0)?,
        tenant: row::name(found, 1)?,
        kind: row::name(found, 2)?,
        queue: row::name(found, 3)?,
        order_key: row::name_if_any(found, 4)?,
        concurrency_key: row::name_if_any(found, 5)?,
        starts: row::count(found, 6)?,
        worker: row::column(found, 7)?,
        started_at: row::column(found, 8)?,
        cancel_requested: row::column(found, 9)?,
    })
}
