//! What the consumer asks before it applies an event. An implementation must write down that the event was accepted in the
//! transaction that it is given, and must neither begin nor end one.

use std::future::Future;

pub use rusqlite::Transaction as SqliteTransaction;
pub use sqlx::PgConnection;

/// Why an event could not be accepted.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Says whether an event is new.
pub trait Inbox {
    /// Whether an event is accepted for the first time, on SQLite.
    ///
    /// # Errors
    /// What the database said; the transaction is rolled back then.
    fn accept_sqlite(
        &self,
        transaction: &SqliteTransaction<'_>,
        event: &str,
    ) -> Result<bool, BoxError>;

    /// Whether an event is accepted for the first time, on PostgreSQL. The connection is in a transaction.
    ///
    /// # Errors
    /// What the database said; the transaction is rolled back then.
    fn accept_postgres(
        &self,
        transaction: &mut PgConnection,
        event: &str,
    ) -> impl Future<Output = Result<bool, BoxError>>;
}

/// Takes every event for a new one.
#[derive(Clone, Copy, Debug)]
pub struct NoInbox;

impl Inbox for NoInbox {
    fn accept_sqlite(&self, _: &SqliteTransaction<'_>, _: &str) -> Result<bool, BoxError> {
        Ok(true)
    }

    async fn accept_postgres(&self, _: &mut PgConnection, _: &str) -> Result<bool, BoxError> {
        Ok(true)
    }
}
