//! What goes into the caller's own transaction, on a connection of the caller's or on the writer thread. Nothing here
//! begins, commits or rolls back: it stands or falls with the caller's rows.

use rusqlite::Transaction;
use surefoot_core::error::StoreError;
use surefoot_core::port::{EffectWrite, EffectWritten, Enqueued, NewJob, Settled};
use surefoot_core::settle::Settlement;
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::store::SqliteStore;
use super::{effect, enqueue, settle};
use crate::not_settled::NotSettled;

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
    /// Ends an attempt inside the caller's own transaction, begun as for [`enqueue_in`](Self::enqueue_in): business rows,
    /// the outcome and new jobs are there together or not at all. Only the holder of the lease can: the job must run under
    /// the settlement's epoch when this is called, and nobody else can take it before the transaction ends. When the engine
    /// settles the same outcome later, it is told that it stands ([`Settled::Already`]).
    ///
    /// Decide the settlement ([`surefoot_core::settle::settle`]) by the effects as they are on record, those included that
    /// [`write_effect_in`](Self::write_effect_in) wrote in the same transaction.
    ///
    /// # Errors
    /// [`NotSettled`], after each of which the caller must roll back.
    pub fn settle_in(tx: &Transaction<'_>, settlement: &Settlement) -> Result<(), NotSettled> {
        let ledger = Ledger::of(tx);
        let (job, epoch) = (settlement.job, settlement.fence.epoch);
        match settle::settle(&ledger, settlement)? {
            Settled::Applied => Ok(ledger.into_tally().write(tx)?),
            Settled::Already => Err(NotSettled::Already { job, epoch }),
            Settled::Stale => Err(NotSettled::Stale { job, epoch }),
        }
    }

    /// Writes an effect down inside the caller's own transaction, by the rules of
    /// [`Store::write_effects`](surefoot_core::port::Store::write_effects). This is for what became of a call that is over:
    /// that a call is about to leave must be durable before it does, which it is not until the transaction commits.
    ///
    /// # Errors
    /// Those of the statement, as for [`enqueue_in`](Self::enqueue_in). A refusal is an answer; nothing was written then.
    pub fn write_effect_in(
        tx: &Transaction<'_>,
        write: &EffectWrite,
    ) -> Result<EffectWritten, StoreError> {
        effect::write(&Ledger::of(tx), &effect::Prepared::of(write)?)
    }
}
