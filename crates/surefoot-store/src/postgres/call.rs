//! One verb on one connection, bounded by time. Whatever ends a verb other than its own success, a time-out, a fault of
//! the connection, a caller that went away, closes the connection: a server that stopped answering never gets a second
//! caller to wait for it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::SqlStr;
use sqlx::postgres::{PgArguments, PgRow, Postgres};
use sqlx::query::Query;
use surefoot_core::error::StoreError;
use tokio::time::Instant;

use super::connections::{Connections, Held};
use super::fault::{Fault, TimedOut};
use super::front::Front;
use super::schema::Schema;

statements! {
    BEGIN = "-- begin: one verb through a pooler
        begin isolation level read committed";
    SET_LOCAL = "-- begin: what a session would have set
        select set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $1, true)";
    COMMIT = "-- commit: one verb through a pooler
        commit";
}

/// A statement with its arguments.
pub(super) type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// What verbs need to run statements.
pub(super) struct Caller {
    pub(super) connections: Connections,
    pub(super) schema: Arc<Schema>,
    pub(super) front: Front,
    pub(super) timeout: Duration,
    pub(super) through_pooler: bool,
}

/// A verb that is under way.
pub(super) struct Call<'a> {
    caller: &'a Caller,
    held: Held,
    until: Instant,
}

impl Caller {
    /// Begins a verb.
    pub(super) async fn begin(&self) -> Result<Call<'_>, StoreError> {
        let until = Instant::now() + self.timeout;
        let held = match tokio::time::timeout_at(until, self.connections.hold()).await {
            Ok(held) => held?,
            Err(_) => return Err(self.timed_out()),
        };
        let mut call = Call {
            caller: self,
            held,
            until,
        };
        if self.through_pooler {
            call.plain(BEGIN).await?;
            call.rows(
                self.statement(SET_LOCAL)
                    .bind(format!("{}ms", self.timeout.as_millis())),
            )
            .await?;
        }
        Ok(call)
    }

    /// A verb of one statement.
    pub(super) async fn rows(&self, statement: Statement<'_>) -> Result<Vec<PgRow>, StoreError> {
        let mut call = self.begin().await?;
        let rows = call.rows(statement).await?;
        call.end().await?;
        Ok(rows)
    }

    /// A verb of one statement that answers one row.
    pub(super) async fn row(&self, statement: Statement<'_>) -> Result<PgRow, StoreError> {
        let rows = self.rows(statement).await?;
        rows.into_iter()
            .next()
            .ok_or_else(|| super::fault::broken("a statement answered no row"))
    }

    /// A constant statement in this store's schema, to bind arguments to.
    pub(super) fn statement<'q>(&self, sql: &'static str) -> Statement<'q> {
        sqlx::query(self.sql(sql)).persistent(!self.through_pooler)
    }

    pub(super) fn sql(&self, sql: &'static str) -> SqlStr {
        self.schema.sql(sql)
    }

    fn timed_out(&self) -> StoreError {
        StoreError::Unavailable(Box::new(TimedOut(self.timeout)))
    }
}

impl Call<'_> {
    /// The rows of a statement.
    pub(super) async fn rows(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Vec<PgRow>, StoreError> {
        let rows = statement.fetch_all(&mut self.held.connection);
        let answer = tokio::time::timeout_at(self.until, rows).await;
        self.judged(answer)
    }

    async fn plain(&mut self, sql: &'static str) -> Result<(), StoreError> {
        let done = sqlx::raw_sql(sql).execute(&mut self.held.connection);
        let answer = tokio::time::timeout_at(self.until, done).await;
        self.judged(answer).map(drop)
    }

    /// Ends the verb; its connection may be used again.
    pub(super) async fn end(mut self) -> Result<(), StoreError> {
        if self.caller.through_pooler {
            self.plain(COMMIT).await?;
        }
        self.caller.connections.release(self.held);
        Ok(())
    }

    fn judged<T>(
        &self,
        answer: Result<Result<T, sqlx::Error>, tokio::time::error::Elapsed>,
    ) -> Result<T, StoreError> {
        match answer {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                let fault = Fault::of(error);
                if fault.connection_lost {
                    self.caller.connections.forget_resting();
                }
                Err(fault.error)
            }
            Err(_) => {
                self.caller.connections.forget_resting();
                Err(self.caller.timed_out())
            }
        }
    }
}
