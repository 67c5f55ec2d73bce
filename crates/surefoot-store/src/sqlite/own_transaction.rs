//! What goes into the caller's own transaction, on a connection of the caller's or on the writer thread. Nothing here
//! begins, commits or rolls back: it stands or falls with the caller's rows.

use rusqlite::Transaction;
use surefoot_core::error::StoreError;
use surefoot_core::port::{Enqueued, NewJob};
use surefoot_core::time::Timestamp;

use super::enqueue;
use super::ledger::Ledger;
use super::store::SqliteStore;

impl SqliteStore {
    /// Writes a job down inside the caller's own transaction, on a connection of the caller's to the same file: the
    /// job is there if and only if that transaction commits. Begin it with `BEGIN IMMEDIATE`
    /// ([`rusqlite::TransactionBehavior::Immediate`]): a transaction that reads first and writes later can be refused
    /// as busy without any wait.
    ///
    /// # Errors
    /// Those of the statement. The transaction can go on after [`StoreError::Broken`] and [`StoreError::Refused`], but
    /// the caller should roll it back.
    pub fn enqueue_in(
        tx: &Transaction<'_>,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<Enqueued, StoreError> {
        let ledger = Ledger::of(tx);
        let enqueued = enqueue::enqueue(&ledger, job, now)?;
        ledger.into_tally().write(tx)?;
        Ok(enqueued)
    }
}
