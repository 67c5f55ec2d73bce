//! What people do by hand. Each is one verb of the store, which refuses what the state does not allow; here it is told to
//! those who wait in this process, and a replay as the same effect first says so to the effects that waited for it.

use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Queue};
use surefoot_core::job::StateName;
use surefoot_core::payload::Payload;
use surefoot_core::port::{By, Cancelled, Pause, Replay, ReplayEffect, Steered};

use super::Client;
use crate::cx::CancelCause;

impl Client {
    /// Withdraws a job: at once when it waits. When it runs its handler is asked to stop, at once on this node and
    /// with the next heartbeat on another.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn cancel(&self, job: JobId, by: &By) -> Result<Cancelled, StoreError> {
        let answer = self.store.cancel(job, by, self.now()).await?;
        match answer {
            Cancelled::Requested => self.local.running.cancel_job(job, CancelCause::Requested),
            Cancelled::Done | Cancelled::Refused(_) | Cancelled::NotFound => {}
        }
        self.local.changed(job);
        Ok(answer)
    }

    /// Makes a dead letter pending again. As the same effect, what waits for a person may be sent again under its key;
    /// what a provider can be asked about is asked about first.
    ///
    /// # Errors
    /// What the store answered; the same call may be repeated.
    pub async fn replay(&self, job: JobId, replay: &Replay) -> Result<Steered, StoreError> {
        if replay.effect == Some(ReplayEffect::Same) {
            // In this order: what is read of a dead letter's effects before it is seen dead is as it died.
            let effects = self.store.effects(&[job]).await?;
            let record = self.store.job(job).await?;
            let dead = record.filter(|record| record.job.state.name() == StateName::Dead);
            if let Some(record) = dead {
                self.permit(&record.job, effects, &replay.by).await?;
            }
        }
        let answer = self.store.replay(job, replay, self.now()).await?;
        self.local.changed(job);
        self.local.work.notify_one();
        Ok(answer)
    }

    /// Sets a dead letter aside for good.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn ignore(&self, job: JobId, by: &By) -> Result<Steered, StoreError> {
        let answer = self.store.ignore(job, by, self.now()).await?;
        self.local.changed(job);
        Ok(answer)
    }

    /// Replaces a dead letter's payload; the earlier one stays as a revision.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
    ) -> Result<Steered, StoreError> {
        let answer = self.store.edit(job, payload, by, self.now()).await?;
        self.local.changed(job);
        Ok(answer)
    }

    /// Stops claims from a queue, on all nodes.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn pause(&self, queue: &Queue, by: &By) -> Result<(), StoreError> {
        self.store.pause(queue, by, self.now()).await
    }

    /// Lets claims from a queue go on; answers whether it was paused.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn resume(&self, queue: &Queue) -> Result<bool, StoreError> {
        let answer = self.store.resume(queue).await?;
        self.local.work.notify_one();
        self.announce(queue);
        Ok(answer)
    }

    /// The paused queues, by name.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        self.store.pauses().await
    }
}
