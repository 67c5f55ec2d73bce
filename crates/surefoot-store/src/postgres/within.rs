//! Where the statements of a verb run. A verb that also serves the caller's transaction is written once and is told which.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;

use super::call::{Caller, Statement};
use super::fault::Fault;

/// Where the statements of a verb run.
pub(super) enum Within<'a> {
    /// Each in a transaction of its own, on a connection of the store.
    Store,
    /// In the caller's transaction.
    Caller(&'a mut PgConnection),
}

impl Within<'_> {
    /// The rows that a statement answers.
    pub(super) async fn rows(
        &mut self,
        caller: &Caller,
        statement: Statement<'_>,
    ) -> Result<Vec<PgRow>, StoreError> {
        match self {
            Self::Store => caller.rows(statement).await,
            Self::Caller(connection) => statement
                .fetch_all(&mut **connection)
                .await
                .map_err(|error| Fault::of(error).error),
        }
    }
}
