//! Leases between claim and settlement: extending them, and finding those that ended.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{BATCH_MAX, Beat, Extended, Extension};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::Caller;
use super::fault::broken;
use super::row::{JobRow, column};

statements! {
    EXTEND = "-- extend
        select n.micros as database_now, e.place, e.lease_until, e.cancel_requested
        from (select surefoot.now_micros() as micros) n left join surefoot.extend($1, $2, $3) e on true";
    LAPSED = "-- lapsed
        select c.* from (
            select k.id, k.seq, k.tenant, k.kind, k.key, k.queue, k.priority, k.order_key, k.concurrency_key, k.payload,
                k.revision, k.generation, k.trace, k.enqueued_at, k.deadline_at, k.starts, k.failed, k.crashed,
                k.deferred, k.unknown, k.due_at, k.epoch, k.worker, k.started_at, k.lease_until, k.recovery,
                k.cancel_requested,
                sum(octet_length(k.payload)) over (order by k.lease_until, k.id) - octet_length(k.payload) as before
            from surefoot.lapsed($1, $2) l join surefoot.live_job k on k.id = l.id
            where k.state = 'running' and k.lease_until < $1) c
        where c.before < 33554432
        order by c.lease_until, c.id";
}

/// Extends leases. Answers stand in the order of the batch.
pub(super) async fn extend(
    caller: &Caller,
    leases: &[Extension],
) -> Result<Vec<Extended>, StoreError> {
    if leases.is_empty() {
        return Ok(Vec::new());
    }
    Ok(beat(caller, leases).await?.extended)
}

/// As [`extend`], with the database's time.
pub(super) async fn beat(caller: &Caller, leases: &[Extension]) -> Result<Beat, StoreError> {
    let mut beat = Beat {
        extended: vec![Extended::Lost; leases.len()],
        database_now: Timestamp::MIN,
    };
    for round in rounds(leases) {
        let statement = caller
            .statement(EXTEND)
            .bind(
                round
                    .iter()
                    .map(|(_, lease)| lease.job.as_uuid())
                    .collect::<Vec<Uuid>>(),
            )
            .bind(
                round
                    .iter()
                    .map(|(_, lease)| lease.epoch.0)
                    .collect::<Vec<i64>>(),
            )
            .bind(
                round
                    .iter()
                    .map(|(_, lease)| lease.until.as_micros())
                    .collect::<Vec<i64>>(),
            );
        for row in caller.rows(statement).await? {
            beat.database_now = Timestamp::from_micros(column(&row, "database_now")?);
            told(&row, &round, &mut beat.extended)?;
        }
    }
    Ok(beat)
}

/// The batch in rounds in which a job stands once, in the order of ids; at least one round.
fn rounds(leases: &[Extension]) -> Vec<Vec<(usize, &Extension)>> {
    let mut rounds: Vec<Vec<(usize, &Extension)>> = Vec::new();
    let mut left: Vec<_> = leases.iter().enumerate().collect();
    left.sort_by_key(|(place, lease)| (lease.job, *place));
    loop {
        let mut again = Vec::new();
        let mut round: Vec<(usize, &Extension)> = Vec::new();
        for item in left {
            let seen = round.last().is_some_and(|(_, last)| last.job == item.1.job);
            if seen || round.len() == BATCH_MAX {
                again.push(item)
            } else {
                round.push(item)
            }
        }
        rounds.push(round);
        if again.is_empty() {
            return rounds;
        }
        left = again;
    }
}

fn told(
    row: &PgRow,
    round: &[(usize, &Extension)],
    extended: &mut [Extended],
) -> Result<(), StoreError> {
    let Some(number) = column::<Option<i32>>(row, "place")? else {
        return Ok(());
    };
    let item = usize::try_from(number - 1)
        .ok()
        .and_then(|at| round.get(at));
    let (place, _) =
        item.ok_or_else(|| broken(format_args!("extend answers for item {number}")))?;
    extended[*place] = Extended::Held {
        until: Timestamp::from_micros(column(row, "lease_until")?),
        cancel_requested: column(row, "cancel_requested")?,
    };
    Ok(())
}

/// Running jobs whose lease ended before `now`, the longest ended first; at most what one answer carries.
pub(super) async fn lapsed(
    caller: &Caller,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<LeasedJob>, StoreError> {
    let limit = i32::try_from(limit.min(BATCH_MAX as u32)).unwrap_or(0);
    let rows = caller
        .rows(caller.statement(LAPSED).bind(now.as_micros()).bind(limit))
        .await?;
    rows.iter().map(|row| JobRow::at(row, 0).leased()).collect()
}
