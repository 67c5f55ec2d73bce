//! Depth: what waits, runs and is dead, from counters and index seeks. It must never count rows.

use rusqlite::{Connection, Row};
use surefoot_core::error::StoreError;
use surefoot_core::job::StateName;
use surefoot_core::port::{Depth, DepthCount};
use surefoot_core::time::Timestamp;

use super::claim::levels::{self, READINESSES};
use super::ledger::{first, rows};
use super::row;

statements! {
    COUNTS = "-- depth: the counters
        select queue, kind, state, count from surefoot_depth where count > 0";
    OLDEST_DUE = "-- depth: the earliest due time on one level of a lane
        select due_at from surefoot_job indexed by surefoot_job_lane
        where readiness = ?1 and queue = ?2 and kind = ?3 and priority = ?4 order by due_at limit 1";
    OLDEST_DEAD = "-- depth: when the oldest dead letter died
        select dead_at from surefoot_job indexed by surefoot_job_dead_at
        where state = 'dead' order by dead_at limit 1";
}

/// What waits, runs and is dead.
pub(super) fn depth(connection: &Connection, now: Timestamp) -> Result<Depth, StoreError> {
    let mut counts = rows(connection, COUNTS, (), count)?;
    counts.sort_by(|one, other| {
        (&one.queue, &one.kind, one.state).cmp(&(&other.queue, &other.kind, other.state))
    });
    Ok(Depth {
        counts,
        oldest_due: oldest_due(connection, now)?,
        oldest_dead: first(connection, OLDEST_DEAD, (), |found| row::time(found, 0))?,
    })
}

fn oldest_due(connection: &Connection, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let mut oldest: Option<Timestamp> = None;
    for readiness in READINESSES {
        levels::each(connection, readiness, |level| {
            let place = (level.readiness, level.queue, level.kind, level.priority);
            let due = first(connection, OLDEST_DUE, place, |found| row::time(found, 0))?;
            if let Some(due) = due.filter(|due| *due <= now) {
                oldest = Some(oldest.map_or(due, |oldest| oldest.min(due)));
            }
            Ok(())
        })?;
    }
    Ok(oldest)
}

fn count(found: &Row<'_>) -> Result<DepthCount, StoreError> {
    Ok(DepthCount {
        queue: row::name(found, 0)?,
        kind: row::name(found, 1)?,
        state: row::word(found, 2, StateName::parse)?,
        count: row::column::<i64>(found, 3)?.unsigned_abs(),
    })
}
