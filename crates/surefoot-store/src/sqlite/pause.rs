//! Pause and resume of queues.

use rusqlite::Connection;
use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::port::{By, Pause};
use surefoot_core::time::Timestamp;

use super::ledger::{Ledger, rows};
use super::row;

statements! {
    PAUSE = "-- pause: a queue, unless it is paused already
        insert into surefoot_queue_pause (queue, at, actor, reason) values (?1, ?2, ?3, ?4)
        on conflict (queue) do nothing";
    RESUME = "-- resume: a queue
        delete from surefoot_queue_pause where queue = ?1";
    PAUSES = "-- pauses: the paused queues by name
        select queue, at, actor, reason from surefoot_queue_pause order by queue";
}

/// Stops claims from a queue.
pub(super) fn pause(
    ledger: &Ledger<'_>,
    queue: &Queue,
    by: &By,
    now: Timestamp,
) -> Result<(), StoreError> {
    let pause = (
        queue.as_str(),
        now.as_micros(),
        by.actor.as_str(),
        by.reason.as_str(),
    );
    ledger.execute(PAUSE, pause).map(|_| ())
}

/// Lets claims from a queue go on; answers whether it was paused.
pub(super) fn resume(ledger: &Ledger<'_>, queue: &Queue) -> Result<bool, StoreError> {
    ledger
        .execute(RESUME, [queue.as_str()])
        .map(|changed| changed > 0)
}

/// The paused queues by name.
pub(super) fn pauses(connection: &Connection) -> Result<Vec<Pause>, StoreError> {
    rows(connection, PAUSES, (), |found| {
        Ok(Pause {
            queue: row::name(found, 0)?,
            at: row::time(found, 1)?,
            by: row::by(found, 2)?,
        })
    })
}
