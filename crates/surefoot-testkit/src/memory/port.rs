//! The verbs of the port, each one lock of the table and nothing awaited under it.

use std::time::Duration;

use async_trait::async_trait;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot_core::job::{Job, LeasedJob};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Advanced, Announcements, Beat, By, Cancelled, Claim, DeadGroup, Depth, EffectWrite,
    EffectWritten, Enqueued, ExpiredJob, Extended, Extension, Heart, JobFilter, JobRecord,
    Maintained, NewJob, Pause, Replay, Steered, Store,
};
use surefoot_core::settle::Settlement;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::{MemoryStore, bounded};

#[async_trait]
impl Store for MemoryStore {
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>, StoreError> {
        bounded(jobs.len())?;
        let mut table = self.table();
        Ok(jobs.iter().map(|job| table.enqueue(job, now)).collect())
    }

    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Result<Advanced, StoreError> {
        bounded(settlements.len())?;
        let mut table = self.table();
        let settled = settlements
            .iter()
            .map(|settlement| table.settle(settlement))
            .collect();
        let leased = claim
            .map(|claim| table.claim(claim, now))
            .unwrap_or_default();
        let next_due = claim.and_then(|claim| table.next_due(claim, now));
        Ok(Advanced {
            settled,
            leased,
            next_due,
        })
    }

    async fn extend(
        &self,
        leases: &[Extension],
        _now: Timestamp,
    ) -> Result<Vec<Extended>, StoreError> {
        bounded(leases.len())?;
        let mut table = self.table();
        Ok(leases
            .iter()
            .map(|extension| table.extend(extension))
            .collect())
    }

    async fn heart(&self) -> Result<Box<dyn Heart>, StoreError> {
        Ok(Box::new(MemoryHeart {
            store: self.clone(),
        }))
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Result<bool, StoreError> {
        Ok(self.table().late(job, epoch, said))
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Result<Vec<LeasedJob>, StoreError> {
        Ok(self.table().lapsed(now, limit))
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Result<Vec<ExpiredJob>, StoreError> {
        Ok(self.table().expire(now, limit))
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        _now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError> {
        bounded(writes.len())?;
        let mut table = self.table();
        Ok(writes
            .iter()
            .map(|write| table.write_effect(write))
            .collect())
    }

    async fn effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
        bounded(jobs.len())?;
        Ok(self.table().effects(jobs))
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.table().hasten(job, now))
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Result<Cancelled, StoreError> {
        Ok(self.table().cancel(job, by, now))
    }

    async fn replay(
        &self,
        job: JobId,
        replay: &Replay,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        Ok(self.table().replay(job, replay, now))
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Result<Steered, StoreError> {
        Ok(self.table().ignore(job, by, now))
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        Ok(self.table().edit(job, payload, by, now))
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Result<(), StoreError> {
        let pause = Pause {
            queue: queue.clone(),
            at: now,
            by: by.clone(),
        };
        self.table().pauses.entry(queue.clone()).or_insert(pause);
        Ok(())
    }

    async fn resume(&self, queue: &Queue) -> Result<bool, StoreError> {
        Ok(self.table().pauses.remove(queue).is_some())
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        Ok(self.table().pauses.values().cloned().collect())
    }

    async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        Ok(self.table().job(job))
    }

    async fn find(
        &self,
        tenant: &Tenant,
        kind: &Kind,
        key: &Key,
    ) -> Result<Option<JobId>, StoreError> {
        Ok(self
            .table()
            .keys
            .get(&(tenant.clone(), kind.clone(), key.clone()))
            .copied())
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        Ok(self.table().jobs(filter, before, limit))
    }

    async fn dead_groups(&self) -> Result<Vec<DeadGroup>, StoreError> {
        Ok(self.table().dead_groups())
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, StoreError> {
        Ok(self.table().depth(now))
    }

    async fn maintain(&self, keep: Duration, now: Timestamp) -> Result<Maintained, StoreError> {
        Ok(self.table().maintain(keep, now))
    }

    async fn database_now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn announce(&self, queues: &[Queue]) -> Result<(), StoreError> {
        self.wakes.announce(queues);
        Ok(())
    }

    async fn announcements(&self) -> Result<Option<Box<dyn Announcements>>, StoreError> {
        Ok(Some(Box::new(self.wakes.listen())))
    }
}

struct MemoryHeart {
    store: MemoryStore,
}

#[async_trait]
impl Heart for MemoryHeart {
    async fn beat(&mut self, leases: &[Extension], now: Timestamp) -> Result<Beat, StoreError> {
        let extended = self.store.extend(leases, now).await?;
        Ok(Beat {
            extended,
            database_now: self.store.clock.now(),
        })
    }
}
