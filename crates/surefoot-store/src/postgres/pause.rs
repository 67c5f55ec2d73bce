//! Paused queues. A claim looks at them in the statement that claims, so a pause holds from its commit on.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::port::{By, Pause};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::row::{column, parsed};

statements! {
    PAUSE = "-- pause
        insert into surefoot.queue_pause (queue, at, actor, reason) values ($1, $2, $3, $4) on conflict do nothing";
    RESUME = "-- resume
        delete from surefoot.queue_pause where queue = $1 returning queue";
    PAUSES = "-- pauses
        select queue, at, actor, reason from surefoot.queue_pause order by queue";
}

/// Stops claims from a queue.
pub(super) async fn pause(
    caller: &Caller,
    queue: &Queue,
    by: &By,
    now: Timestamp,
) -> Result<(), StoreError> {
    let statement = caller
        .statement(PAUSE)
        .bind(queue.as_str().to_owned())
        .bind(now.as_micros())
        .bind(by.actor.as_str().to_owned())
        .bind(by.reason.as_str().to_owned());
    caller.rows(statement).await.map(drop)
}

/// Lets claims go on; answers whether the queue was paused.
pub(super) async fn resume(caller: &Caller, queue: &Queue) -> Result<bool, StoreError> {
    let rows = caller
        .rows(caller.statement(RESUME).bind(queue.as_str().to_owned()))
        .await?;
    Ok(!rows.is_empty())
}

/// The paused queues, by name.
pub(super) async fn pauses(caller: &Caller) -> Result<Vec<Pause>, StoreError> {
    let rows = caller.rows(caller.statement(PAUSES)).await?;
    rows.iter().map(read).collect()
}

fn read(row: &PgRow) -> Result<Pause, StoreError> {
    Ok(Pause {
        queue: parsed(row, "queue", str::parse)?,
        at: Timestamp::from_micros(column(row, "at")?),
        by: By {
            actor: parsed(row, "actor", str::parse)?,
            reason: ErrorText::from(column::<&str>(row, "reason")?),
        },
    })
}
