//! How much waits, runs and is dead.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::job::DeadReason;
use surefoot_core::job::StateName;
use surefoot_core::port::{DeadGroup, Depth, DepthCount, PAGE_MAX};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::Caller;
use super::row::{column, fingerprint, parsed};

/// Up to how many jobs of one lane (queue, kind, urgency) and readiness are counted one by one. Where there are more,
/// the count is an estimate from a sample of the table, and at least this.
pub(super) const COUNTED_MAX: i32 = 10_000;

statements! {
    DEPTH = "-- depth
        select queue, kind, state, count from surefoot.depth($1)";
    OLDEST = "-- depth: the oldest
        select due_at, dead_at from surefoot.oldest($1)";
    DEAD_GROUPS = "-- dead_groups
        select g.kind, g.dead_reason, g.fingerprint, g.count, g.oldest_at, g.latest_at, l.id as latest, l.error
        from (
            select kind, dead_reason, fingerprint, count(*) as count, min(dead_at) as oldest_at, max(dead_at) as latest_at
            from surefoot.dead_letter group by kind, dead_reason, fingerprint
            order by count(*) desc, kind, dead_reason, fingerprint limit $1) g
        cross join lateral (
            select d.id, d.error from surefoot.dead_letter d
            where d.kind = g.kind and d.dead_reason = g.dead_reason and d.fingerprint = g.fingerprint
            order by d.dead_at desc, d.id desc limit 1) l";
}

/// What waits, runs and is dead.
pub(super) async fn depth(caller: &Caller, now: Timestamp) -> Result<Depth, StoreError> {
    let mut call = caller.begin().await?;
    let rows = call.rows(caller.statement(DEPTH).bind(COUNTED_MAX)).await?;
    let oldest = call
        .rows(caller.statement(OLDEST).bind(now.as_micros()))
        .await?;
    call.end().await?;
    let mut counts = rows.iter().map(count).collect::<Result<Vec<_>, _>>()?;
    counts.sort_by(|one, other| {
        (&one.queue, &one.kind, one.state).cmp(&(&other.queue, &other.kind, other.state))
    });
    let time = |name| match oldest.first() {
        Some(row) => Ok(column::<Option<i64>>(row, name)?.map(Timestamp::from_micros)),
        None => Ok(None),
    };
    Ok(Depth {
        counts,
        oldest_due: time("due_at")?,
        oldest_dead: time("dead_at")?,
    })
}

fn count(row: &PgRow) -> Result<DepthCount, StoreError> {
    Ok(DepthCount {
        queue: parsed(row, "queue", str::parse)?,
        kind: parsed(row, "kind", str::parse)?,
        state: parsed(row, "state", |text| {
            StateName::parse(text).ok_or("no state of a job")
        })?,
        count: number(row, "count")?,
    })
}

/// Dead letters by kind, reason and error fingerprint, the largest group first.
pub(super) async fn dead_groups(caller: &Caller) -> Result<Vec<DeadGroup>, StoreError> {
    let rows = caller
        .rows(caller.statement(DEAD_GROUPS).bind(i64::from(PAGE_MAX)))
        .await?;
    let mut groups = rows.iter().map(group).collect::<Result<Vec<_>, _>>()?;
    groups.sort_by(|one, other| {
        let place = |group: &DeadGroup| (group.kind.clone(), group.reason, group.fingerprint);
        other
            .count
            .cmp(&one.count)
            .then_with(|| place(one).cmp(&place(other)))
    });
    Ok(groups)
}

fn group(row: &PgRow) -> Result<DeadGroup, StoreError> {
    Ok(DeadGroup {
        kind: parsed(row, "kind", str::parse)?,
        reason: parsed(row, "dead_reason", |text| {
            DeadReason::parse(text).ok_or("no dead reason")
        })?,
        fingerprint: fingerprint(column(row, "fingerprint")?),
        error: ErrorText::from(column::<&str>(row, "error")?),
        latest: JobId::from_uuid(column::<Uuid>(row, "latest")?),
        count: number(row, "count")?,
        oldest_at: Timestamp::from_micros(column(row, "oldest_at")?),
        latest_at: Timestamp::from_micros(column(row, "latest_at")?),
    })
}

fn number(row: &PgRow, name: &'static str) -> Result<u64, StoreError> {
    let number: i64 = column(row, name)?;
    u64::try_from(number).map_err(super::fault::broken)
}
