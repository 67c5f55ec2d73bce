//! Expire: a waiting job whose deadline passed becomes a dead letter. It must never touch a job that runs, nor one that is
//! verifying.

use rusqlite::Row;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::StateName;
use surefoot_core::port::ExpiredJob;
use surefoot_core::settle::expired;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::{order_line, row};

statements! {
    OVERDUE = "-- expire: waiting jobs whose deadline passed, the earliest first
        select seq, id, tenant, kind, queue, order_key, state, error, epoch, unknown
        from surefoot_job indexed by surefoot_job_deadline
        where deadline_at is not null and state in ('pending', 'retrying') and deadline_at <= ?1
        order by deadline_at, seq limit ?2";
    DIE = "-- expire: a waiting job becomes a dead letter
        update surefoot_job set state = 'dead', readiness = null, dead_at = ?3, dead_reason = ?4, fingerprint = ?5,
            error = ?6, cancel_requested = 0
        where seq = ?1 and epoch = ?2 and state in ('pending', 'retrying')";
}

struct Overdue {
    seq: i64,
    id: JobId,
    tenant: Tenant,
    kind: Kind,
    queue: Queue,
    order_key: Option<OrderKey>,
    state: StateName,
    error: Option<ErrorText>,
    epoch: Epoch,
    unknown: u32,
}

/// Makes dead letters of waiting jobs whose deadline is not after `now`; answers which, by id.
pub(super) fn expire(
    ledger: &Ledger<'_>,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<ExpiredJob>, StoreError> {
    let mut all = Vec::new();
    for job in ledger.rows(OVERDUE, (now.as_micros(), limit), overdue)? {
        let death = expired(&job.kind, job.unknown, job.error.as_ref(), now);
        ledger.execute_one(
            DIE,
            (
                job.seq,
                job.epoch.0,
                death.at.as_micros(),
                death.reason.as_str(),
                death.fingerprint.to_bits().cast_signed(),
                death.error.as_str(),
            ),
        )?;
        order_line::move_up(ledger, &job.tenant, job.order_key.as_ref())?;
        ledger.moved(
            &job.queue,
            &job.kind,
            Some(job.state),
            Some(StateName::Dead),
        );
        all.push(ExpiredJob {
            job: job.id,
            kind: job.kind,
            reason: death.reason,
        });
    }
    all.sort_unstable_by_key(|expired| expired.job);
    Ok(all)
}

fn overdue(found: &Row<'_>) -> Result<Overdue, StoreError> {
    let error: Option<String> = row::column(found, 7)?;
    Ok(Overdue {
        seq: row::column(found, 0)?,
        id: row::id(found, 1)?,
        tenant: row::name(found, 2)?,
        kind: row::name(found, 3)?,
        queue: row::name(found, 4)?,
        order_key: row::name_if_any(found, 5)?,
        state: row::word(found, 6, StateName::parse)?,
        error: error.map(ErrorText::from),
        epoch: Epoch(row::column(found, 8)?),
        unknown: row::count(found, 9)?,
    })
}
