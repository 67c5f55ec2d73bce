//! What goes into the caller's own transaction, on the caller's connection. Nothing here begins, commits or rolls back: it
//! stands or falls with the caller's rows.

use sqlx::PgConnection;
use surefoot_core::error::StoreError;
use surefoot_core::port::{EffectWrite, EffectWritten, Enqueued, NewJob, Settled};
use surefoot_core::settle::Settlement;
use surefoot_core::time::Timestamp;

use super::store::PostgresStore;
use super::{advance, effect, enqueue};
use crate::not_settled::NotSettled;

impl PostgresStore {
    /// Writes a job down inside the caller's own transaction on `connection`: the job is there if and only if that
    /// transaction commits. Waits for another open transaction that holds the job's key; if that one rolls back, this
    /// one gets the key. The transaction must read what is committed, PostgreSQL's default. Nobody is notified: tell
    /// other nodes by [`announce`](surefoot_core::port::Store::announce) after the commit, or let them poll.
    ///
    /// # Errors
    /// Those of the statement, after which PostgreSQL takes nothing in this transaction but its rollback.
    pub async fn enqueue_in(
        &self,
        connection: &mut PgConnection,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<Enqueued, StoreError> {
        enqueue::enqueue_in(self.caller(), connection, job, now).await
    }

    /// Ends an attempt inside the caller's own transaction: business rows, the outcome and new jobs are there together or
    /// not at all. Only the holder of the lease can: the job must run under the settlement's epoch when this is called,
    /// and nobody else can take it before the transaction ends. When the engine settles the same outcome later, it is
    /// told that it stands ([`Settled::Already`]).
    ///
    /// Make it the last call before the commit, and commit at once. The job is locked from here on: the heartbeat of its node
    /// waits, which holds the leases of other jobs too, and where the job has an order key or a concurrency key, so do
    /// the claims of all such jobs. The transaction must read what is committed, PostgreSQL's default.
    ///
    /// Decide the settlement ([`surefoot_core::settle::settle`]) by the effects as they are on record, those included that
    /// [`write_effect_in`](Self::write_effect_in) wrote in the same transaction.
    ///
    /// # Errors
    /// [`NotSettled`], after each of which the caller must roll back.
    pub async fn settle_in(
        &self,
        connection: &mut PgConnection,
        settlement: &Settlement,
    ) -> Result<(), NotSettled> {
        let (job, epoch) = (settlement.job, settlement.fence.epoch);
        match advance::settle_in(self.caller(), connection, settlement).await? {
            Settled::Applied => Ok(()),
            Settled::Already => Err(NotSettled::Already { job, epoch }),
            Settled::Stale => Err(NotSettled::Stale { job, epoch }),
        }
    }

    /// Writes an effect down inside the caller's own transaction, by the rules of
    /// [`Store::write_effects`](surefoot_core::port::Store::write_effects). This is for what became of a call that is over:
    /// that a call is about to leave must be durable before it does, which it is not until the transaction commits.
    /// It locks the job as [`settle_in`](Self::settle_in) does, so make it one of the last calls too.
    ///
    /// # Errors
    /// Those of the statement, as for [`enqueue_in`](Self::enqueue_in). A refusal is an answer; nothing was written then.
    pub async fn write_effect_in(
        &self,
        connection: &mut PgConnection,
        write: &EffectWrite,
    ) -> Result<EffectWritten, StoreError> {
        effect::write_in(self.caller(), connection, write).await
    }
}
