//! The verbs of the port, each handed to the file that holds it.

use std::time::Duration;

use async_trait::async_trait;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot_core::job::{Job, LeasedJob};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Advanced, Announcements, BATCH_MAX, By, Cancelled, Claim, DeadGroup, Depth, Enqueued,
    ExpiredJob, Extended, Extension, Heart, JobFilter, JobRecord, Maintained, NewJob, Pause,
    Replay, Steered, Store,
};
use surefoot_core::port::{EffectWrite, EffectWritten};
use surefoot_core::settle::Settlement;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::enqueue::Patience;
use super::heart::PostgresHeart;
use super::store::PostgresStore;
use super::{
    advance, announce, cancel, clock, dead_groups, depth, effect, enqueue, expire, group, late,
    lease, list, maintain, pause, record, steer,
};

fn bounded(items: usize) -> Result<(), StoreError> {
    if items > BATCH_MAX {
        let what =
            format!("a batch has {items} items, at most {BATCH_MAX} are taken; hand them in parts");
        return Err(StoreError::Refused(what.into()));
    }
    Ok(())
}

#[async_trait]
impl Store for PostgresStore {
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>, StoreError> {
        bounded(jobs.len())?;
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        if jobs.len() <= group::CALL_JOBS_MAX {
            return self.shared.group.enqueue(jobs, now).await;
        }
        let items: Vec<_> = jobs.iter().map(|job| (job, now)).collect();
        enqueue::enqueue(self.caller(), &items, Patience::Full).await
    }

    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Result<Advanced, StoreError> {
        bounded(settlements.len())?;
        if settlements.is_empty() && claim.is_none() {
            return Ok(Advanced::default());
        }
        advance::advance(self.caller(), settlements, claim, now).await
    }

    async fn extend(
        &self,
        leases: &[Extension],
        _now: Timestamp,
    ) -> Result<Vec<Extended>, StoreError> {
        bounded(leases.len())?;
        lease::extend(self.caller(), leases).await
    }

    async fn heart(&self) -> Result<Box<dyn Heart>, StoreError> {
        Ok(Box::new(
            PostgresHeart::start(&self.shared.connect, self.caller()).await?,
        ))
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Result<bool, StoreError> {
        late::late(self.caller(), job, epoch, said).await
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Result<Vec<LeasedJob>, StoreError> {
        lease::lapsed(self.caller(), now, limit).await
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Result<Vec<ExpiredJob>, StoreError> {
        expire::expire(self.caller(), now, limit).await
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        _now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError> {
        bounded(writes.len())?;
        effect::write(self.caller(), writes).await
    }

    async fn effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
        bounded(jobs.len())?;
        effect::effects(self.caller(), jobs).await
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Result<bool, StoreError> {
        effect::hasten(self.caller(), job, now).await
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Result<Cancelled, StoreError> {
        cancel::cancel(self.caller(), job, by, now).await
    }

    async fn replay(
        &self,
        job: JobId,
        replay: &Replay,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        steer::replay(self.caller(), job, replay, now).await
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Result<Steered, StoreError> {
        steer::ignore(self.caller(), job, by, now).await
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        steer::edit(self.caller(), job, payload, by, now).await
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Result<(), StoreError> {
        pause::pause(self.caller(), queue, by, now).await
    }

    async fn resume(&self, queue: &Queue) -> Result<bool, StoreError> {
        pause::resume(self.caller(), queue).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        pause::pauses(self.caller()).await
    }

    async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        record::job(self.caller(), job).await
    }

    async fn find(
        &self,
        tenant: &Tenant,
        kind: &Kind,
        key: &Key,
    ) -> Result<Option<JobId>, StoreError> {
        enqueue::find(self.caller(), tenant, kind, key).await
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        list::jobs(self.caller(), filter, before, limit).await
    }

    async fn dead_groups(&self) -> Result<Vec<DeadGroup>, StoreError> {
        dead_groups::dead_groups(self.caller()).await
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, StoreError> {
        depth::depth(self.caller(), now).await
    }

    async fn maintain(&self, keep: Duration, now: Timestamp) -> Result<Maintained, StoreError> {
        maintain::maintain(self.caller(), keep, now).await
    }

    async fn database_now(&self) -> Result<Timestamp, StoreError> {
        clock::database_now(self.caller()).await
    }

    async fn announce(&self, queues: &[Queue]) -> Result<(), StoreError> {
        announce::announce(self.caller(), queues).await
    }

    async fn announcements(&self) -> Result<Option<Box<dyn Announcements>>, StoreError> {
        match &self.shared.listen {
            Some(connect) => Ok(Some(Box::new(
                announce::listen(self.caller(), connect).await?,
            ))),
            None => Ok(None),
        }
    }
}
