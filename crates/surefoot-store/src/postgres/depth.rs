//! How much waits, runs and is dead.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::job::StateName;
use surefoot_core::port::{Depth, DepthCount};
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::row::{column, parsed};

/// Up to how many jobs of one lane (queue, kind, urgency) and readiness are counted one by one. Where there are more,
/// the count is an estimate from a sample of the table, and at least this.
pub(super) const COUNTED_MAX: i32 = 10_000;

statements! {
    DEPTH = "-- depth
        select queue, kind, state, count from surefoot.depth($1)";
    OLDEST = "-- depth: the oldest
        select due_at, dead_at from surefoot.oldest($1)";
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

/// A count.
pub(super) fn number(row: &PgRow, name: &'static str) -> Result<u64, StoreError> {
    let number: i64 = column(row, name)?;
    u64::try_from(number).map_err(super::fault::broken)
}
