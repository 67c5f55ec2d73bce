//! Announcements by `LISTEN` and `NOTIFY`. Announcing is a statement of its own: a notification inside a transaction that
//! writes jobs would make all such commits wait for one another. A listener has a connection of its own, never one of
//! those for verbs, and ends with an error when that connection is gone or does not answer.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::Executor;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::port::Announcements;

use super::call::Caller;
use super::fault::{Fault, TimedOut};

/// After this long a silence, the listener asks the server for a sign of life.
const SILENCE_MAX: Duration = Duration::from_secs(10);

statements! {
    ANNOUNCE = "-- announce
        select pg_notify('surefoot', q.queue) from unnest($1::text[]) q (queue)";
    PROBE = "-- announcements: a sign of life
        select 1";
}

/// Tells every listener that these queues have work. The names have 128 bytes at most, far below the 8,000 that a
/// notification carries.
pub(super) async fn announce(caller: &Caller, queues: &[Queue]) -> Result<(), StoreError> {
    if queues.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = queues.iter().map(Queue::as_str).collect();
    caller
        .rows(caller.statement(ANNOUNCE).bind(names))
        .await
        .map(drop)
}

/// A stream of announcements from now on.
pub(super) async fn listen(
    caller: &Caller,
    connect: &PgConnectOptions,
) -> Result<PostgresAnnouncements, StoreError> {
    let timeout = caller.timeout;
    // The driver's listener wants a pool; this one holds nothing but its single connection.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(timeout)
        .connect_lazy_with(connect.clone());
    let work = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen(caller.schema.name()).await?;
        Ok(listener)
    };
    let listener = bounded(timeout, work).await?;
    Ok(PostgresAnnouncements { listener, timeout })
}

/// A connection that listens.
pub(super) struct PostgresAnnouncements {
    listener: PgListener,
    timeout: Duration,
}

#[async_trait]
impl Announcements for PostgresAnnouncements {
    async fn next(&mut self) -> Result<Queue, StoreError> {
        loop {
            match tokio::time::timeout(SILENCE_MAX, self.listener.try_recv()).await {
                Ok(Ok(Some(notification))) => match notification.payload().parse() {
                    Ok(queue) => return Ok(queue),
                    // Anybody may notify on a channel; what names no queue says nothing.
                    Err(_) => continue,
                },
                Ok(Ok(None)) => {
                    return Err(StoreError::Unavailable(
                        "the listening connection was lost".into(),
                    ));
                }
                Ok(Err(error)) => return Err(Fault::of(error).error),
                Err(_) => self.probe().await?,
            }
        }
    }
}

impl PostgresAnnouncements {
    /// What is notified meanwhile is kept for the next call.
    async fn probe(&mut self) -> Result<(), StoreError> {
        bounded(self.timeout, self.listener.execute(PROBE))
            .await
            .map(drop)
    }
}

async fn bounded<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(timeout, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Fault::of(error).error),
        Err(_) => Err(StoreError::Unavailable(Box::new(TimedOut(timeout)))),
    }
}
