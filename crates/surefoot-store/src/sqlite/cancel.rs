//! Cancel: a waiting job is withdrawn at once; a running one by request to its holder, who alone knows what it did, and a
//! verifying one, or one that waits with an unknown outcome, by request to its next holder, for what may have happened
//! cannot be withdrawn.

use rusqlite::Row;
use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::StateName;
use surefoot_core::port::{ActionVerb, By, Cancelled};
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::{order_line, row, steer};

statements! {
    WITHDRAW = "-- cancel: a waiting job leaves the table of what waits and runs
        delete from surefoot_job
        where seq = (select seq from surefoot_intent where id = ?1) and state in ('pending', 'retrying')
            and unknown = 0
        returning seq, tenant, kind, queue, order_key, state, starts, failed, crashed, deferred, unknown";
    HISTORY = "-- cancel: what was withdrawn is appended to history
        insert into surefoot_job_history (seq, id, state, ended_at, starts, failed, crashed, deferred, unknown,
            reason)
        values (?1, ?2, 'cancelled', ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    REQUEST = "-- cancel: its holder, or its next one, is asked
        update surefoot_job set cancel_requested = 1
        where seq = (select seq from surefoot_intent where id = ?1)
            and state in ('pending', 'retrying', 'running', 'verifying') and cancel_requested = 0
        returning seq";
}

/// A waiting job that was withdrawn.
struct Withdrawn {
    seq: i64,
    tenant: Tenant,
    kind: Kind,
    queue: Queue,
    order_key: Option<OrderKey>,
    state: StateName,
    counts: [u32; 5],
}

/// Withdraws a job.
pub(super) fn cancel(
    ledger: &Ledger<'_>,
    job: JobId,
    by: &By,
    now: Timestamp,
) -> Result<Cancelled, StoreError> {
    let id = job.as_uuid();
    if let Some(withdrawn) = ledger.first(WITHDRAW, [id.into_bytes()], withdrawn)? {
        end(ledger, job, &withdrawn, by, now)?;
        return Ok(Cancelled::Done);
    }
    if let Some(seq) = ledger.first(REQUEST, [id.into_bytes()], |found| row::column(found, 0))? {
        steer::act(ledger, seq, ActionVerb::Cancel, by, now)?;
        return Ok(Cancelled::Requested);
    }
    Ok(match steer::state_of(ledger, job)? {
        None => Cancelled::NotFound,
        // What could be withdrawn was withdrawn before.
        Some(
            StateName::Pending | StateName::Retrying | StateName::Running | StateName::Verifying,
        ) => Cancelled::Requested,
        Some(
            state @ (StateName::Succeeded
            | StateName::Dead
            | StateName::Cancelled
            | StateName::Ignored),
        ) => Cancelled::Refused(state),
    })
}

fn end(
    ledger: &Ledger<'_>,
    job: JobId,
    withdrawn: &Withdrawn,
    by: &By,
    now: Timestamp,
) -> Result<(), StoreError> {
    let [starts, failed, crashed, deferred, unknown] = withdrawn.counts;
    ledger.execute_one(
        HISTORY,
        (
            withdrawn.seq,
            job.as_uuid().into_bytes(),
            now.as_micros(),
            starts,
            failed,
            crashed,
            deferred,
            unknown,
            by.reason.as_str(),
        ),
    )?;
    steer::act(ledger, withdrawn.seq, ActionVerb::Cancel, by, now)?;
    order_line::move_up(ledger, &withdrawn.tenant, withdrawn.order_key.as_ref())?;
    ledger.moved(
        &withdrawn.queue,
        &withdrawn.kind,
        Some(withdrawn.state),
        None,
    );
    Ok(())
}

fn withdrawn(found: &Row<'_>) -> Result<Withdrawn, StoreError> {
    Ok(Withdrawn {
        seq: row::column(found, 0)?,
        tenant: row::name(found, 1)?,
        kind: row::name(found, 2)?,
        queue: row::name(found, 3)?,
        order_key: row::name_if_any(found, 4)?,
        state: row::word(found, 5, StateName::parse)?,
        counts: [
            row::count(found, 6)?,
            row::count(found, 7)?,
            row::count(found, 8)?,
            row::count(found, 9)?,
            row::count(found, 10)?,
        ],
    })
}
