//! The port, verb by verb, each carried through the plan of faults.

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

use super::{Fault, FaultyStore, Verb};

pub(super) type Answer<T> = Result<T, StoreError>;

impl FaultyStore {
    pub(super) async fn carry<T>(
        &self,
        verb: Verb,
        call: impl Future<Output = Answer<T>>,
    ) -> Answer<T> {
        let fault = self.plan().draw(verb);
        match fault {
            None => call.await,
            Some(Fault::Before) => Err(injected("before", verb)),
            Some(Fault::After) => {
                call.await?;
                Err(injected("after", verb))
            }
            Some(Fault::Delay(wait)) => {
                tokio::time::sleep(wait).await;
                call.await
            }
            Some(Fault::Late(wait)) => {
                let answer = call.await;
                tokio::time::sleep(wait).await;
                answer
            }
        }
    }
}

fn injected(when: &str, verb: Verb) -> StoreError {
    StoreError::Unavailable(format!("injected fault {when} {verb:?} took effect").into())
}

#[async_trait]
impl Store for FaultyStore {
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Answer<Vec<Enqueued>> {
        self.carry(Verb::Enqueue, self.inner.enqueue(jobs, now))
            .await
    }

    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Answer<Advanced> {
        self.carry(Verb::Advance, self.inner.advance(settlements, claim, now))
            .await
    }

    async fn extend(&self, leases: &[Extension], now: Timestamp) -> Answer<Vec<Extended>> {
        self.carry(Verb::Extend, self.inner.extend(leases, now))
            .await
    }

    async fn heart(&self) -> Answer<Box<dyn Heart>> {
        let inner = self.carry(Verb::Heart, self.inner.heart()).await?;
        Ok(Box::new(FaultyHeart {
            store: self.clone(),
            inner,
        }))
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Answer<bool> {
        self.carry(Verb::Late, self.inner.late(job, epoch, said))
            .await
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Answer<Vec<LeasedJob>> {
        self.carry(Verb::Lapsed, self.inner.lapsed(now, limit))
            .await
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Answer<Vec<ExpiredJob>> {
        self.carry(Verb::Expire, self.inner.expire(now, limit))
            .await
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        now: Timestamp,
    ) -> Answer<Vec<EffectWritten>> {
        self.carry(Verb::WriteEffects, self.inner.write_effects(writes, now))
            .await
    }

    async fn effects(&self, jobs: &[JobId]) -> Answer<Vec<Effect>> {
        self.carry(Verb::Effects, self.inner.effects(jobs)).await
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Answer<bool> {
        self.carry(Verb::Hasten, self.inner.hasten(job, now)).await
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Answer<Cancelled> {
        self.carry(Verb::Cancel, self.inner.cancel(job, by, now))
            .await
    }

    async fn replay(&self, job: JobId, replay: &Replay, now: Timestamp) -> Answer<Steered> {
        self.carry(Verb::Replay, self.inner.replay(job, replay, now))
            .await
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Answer<Steered> {
        self.carry(Verb::Ignore, self.inner.ignore(job, by, now))
            .await
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Answer<Steered> {
        self.carry(Verb::Edit, self.inner.edit(job, payload, by, now))
            .await
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Answer<()> {
        self.carry(Verb::Pause, self.inner.pause(queue, by, now))
            .await
    }

    async fn resume(&self, queue: &Queue) -> Answer<bool> {
        self.carry(Verb::Resume, self.inner.resume(queue)).await
    }

    async fn pauses(&self) -> Answer<Vec<Pause>> {
        self.carry(Verb::Pauses, self.inner.pauses()).await
    }

    async fn job(&self, job: JobId) -> Answer<Option<JobRecord>> {
        self.carry(Verb::Job, self.inner.job(job)).await
    }

    async fn find(&self, tenant: &Tenant, kind: &Kind, key: &Key) -> Answer<Option<JobId>> {
        self.carry(Verb::Find, self.inner.find(tenant, kind, key))
            .await
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Answer<Vec<Job>> {
        self.carry(Verb::Jobs, self.inner.jobs(filter, before, limit))
            .await
    }

    async fn dead_groups(&self) -> Answer<Vec<DeadGroup>> {
        self.carry(Verb::DeadGroups, self.inner.dead_groups()).await
    }

    async fn depth(&self, now: Timestamp) -> Answer<Depth> {
        self.carry(Verb::Depth, self.inner.depth(now)).await
    }

    async fn maintain(&self, keep: Duration, now: Timestamp) -> Answer<Maintained> {
        self.carry(Verb::Maintain, self.inner.maintain(keep, now))
            .await
    }

    async fn database_now(&self) -> Answer<Timestamp> {
        self.carry(Verb::DatabaseNow, self.inner.database_now())
            .await
    }

    async fn announce(&self, queues: &[Queue]) -> Answer<()> {
        self.carry(Verb::Announce, self.inner.announce(queues))
            .await
    }

    async fn announcements(&self) -> Answer<Option<Box<dyn Announcements>>> {
        let inner = self
            .carry(Verb::Announcements, self.inner.announcements())
            .await?;
        Ok(inner.map(|inner| {
            let listener: Box<dyn Announcements> = Box::new(FaultyListener {
                store: self.clone(),
                inner,
            });
            listener
        }))
    }
}

struct FaultyHeart {
    store: FaultyStore,
    inner: Box<dyn Heart>,
}

#[async_trait]
impl Heart for FaultyHeart {
    async fn beat(&mut self, leases: &[Extension], now: Timestamp) -> Answer<Beat> {
        self.store
            .carry(Verb::Beat, self.inner.beat(leases, now))
            .await
    }
}

struct FaultyListener {
    store: FaultyStore,
    inner: Box<dyn Announcements>,
}

#[async_trait]
impl Announcements for FaultyListener {
    async fn next(&mut self) -> Answer<Queue> {
        self.store
            .carry(Verb::NextAnnouncement, self.inner.next())
            .await
    }
}
