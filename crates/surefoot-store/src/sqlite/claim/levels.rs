//! Steps through the lanes of waiting jobs from one to the next: queue by queue, kind by kind, priority by priority.
//! Each step is one seek, however many jobs stand in between.

use rusqlite::Connection;
use surefoot_core::error::StoreError;

use super::super::ledger::first;
use super::super::row::column;

statements! {
    NEXT_QUEUE = "-- levels: the next queue
        select queue from surefoot_job indexed by surefoot_job_lane
        where readiness = ?1 and queue > ?2 order by queue limit 1";
    NEXT_KIND = "-- levels: the next kind of a queue
        select kind from surefoot_job indexed by surefoot_job_lane
        where readiness = ?1 and queue = ?2 and kind > ?3 order by kind limit 1";
    NEXT_PRIORITY = "-- levels: the next lower priority of a lane
        select priority from surefoot_job indexed by surefoot_job_lane
        where readiness = ?1 and queue = ?2 and kind = ?3 and priority < ?4 order by priority desc limit 1";
}

/// Jobs that a claim looks at.
pub(in crate::sqlite) const READY: &str = "ready";
/// Jobs behind their order key.
pub(in crate::sqlite) const PARKED: &str = "parked";
/// Every place of a waiting job.
pub(in crate::sqlite) const READINESSES: [&str; 4] = [READY, PARKED, "crowded", "overdue"];

/// Above every priority.
pub(super) const ABOVE_ALL: i32 = i16::MAX as i32 + 1;

/// One priority of one lane.
pub(in crate::sqlite) struct Level<'a> {
    pub(in crate::sqlite) readiness: &'static str,
    pub(in crate::sqlite) queue: &'a str,
    pub(in crate::sqlite) kind: &'a str,
    pub(in crate::sqlite) priority: i32,
}

/// The queue after this one that has such jobs.
pub(super) fn next_queue(
    connection: &Connection,
    readiness: &str,
    after: &str,
) -> Result<Option<String>, StoreError> {
    first(connection, NEXT_QUEUE, (readiness, after), |found| {
        column(found, 0)
    })
}

/// The kind after this one that has such jobs in this queue.
pub(super) fn next_kind(
    connection: &Connection,
    readiness: &str,
    queue: &str,
    after: &str,
) -> Result<Option<String>, StoreError> {
    first(connection, NEXT_KIND, (readiness, queue, after), |found| {
        column(found, 0)
    })
}

/// The highest priority below this one that has such jobs in this lane.
pub(super) fn next_priority(
    connection: &Connection,
    readiness: &str,
    queue: &str,
    kind: &str,
    below: i32,
) -> Result<Option<i32>, StoreError> {
    first(
        connection,
        NEXT_PRIORITY,
        (readiness, queue, kind, below),
        |found| column(found, 0),
    )
}

/// Visits every level of a queue whose kind is wanted.
pub(super) fn each_in_queue(
    connection: &Connection,
    readiness: &'static str,
    queue: &str,
    wanted: impl Fn(&str) -> bool,
    mut visit: impl FnMut(&Level<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = String::new();
    while let Some(kind) = next_kind(connection, readiness, queue, &after)? {
        let mut below = if wanted(&kind) { ABOVE_ALL } else { i32::MIN };
        while let Some(priority) = next_priority(connection, readiness, queue, &kind, below)? {
            visit(&Level {
                readiness,
                queue,
                kind: &kind,
                priority,
            })?;
            below = priority;
        }
        after = kind;
    }
    Ok(())
}

/// Visits every level.
pub(in crate::sqlite) fn each(
    connection: &Connection,
    readiness: &'static str,
    mut visit: impl FnMut(&Level<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = String::new();
    while let Some(queue) = next_queue(connection, readiness, &after)? {
        each_in_queue(connection, readiness, &queue, |_| true, &mut visit)?;
        after = queue;
    }
    Ok(())
}
