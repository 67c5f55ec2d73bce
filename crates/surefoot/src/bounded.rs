//! A store of which no call outlasts a limit, and whose every failure is told to the observer. A call that hangs is
//! given up and counts as unavailable: nobody knows whether it took effect.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot_core::job::{Job, LeasedJob};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Advanced, Announcements, By, Cancelled, Claim, DeadGroup, Depth, EffectWrite, EffectWritten,
    Enqueued, ExpiredJob, Extended, Extension, Heart, JobFilter, JobRecord, Maintained, NewJob,
    Pause, Replay, Steered, Store,
};
use surefoot_core::settle::Settlement;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use crate::observe::{Event, Observer};

/// The longest that a call of the store may take where nothing else is chosen.
pub const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Dropping a partition waits for locks, so upkeep has this many times the limit.
const MAINTAIN_FACTOR: u32 = 6;

/// A call that did not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct NoAnswer(Duration);

/// Ends `call` after `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError::Unavailable(Box::new(NoAnswer(limit)))),
    }
}

/// See the module.
pub(crate) struct Bounded {
    inner: Arc<dyn Store>,
    limit: Duration,
    observer: Arc<dyn Observer>,
}

impl Bounded {
    pub(crate) fn new(inner: Arc<dyn Store>, limit: Duration, observer: Arc<dyn Observer>) -> Self {
        Self {
            inner,
            limit,
            observer,
        }
    }

    async fn call<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.told(verb, within(self.limit, call).await)
    }

    fn told<T>(&self, verb: &'static str, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        answer.inspect_err(|error| self.observer.on(&Event::StoreError { verb, error }))
    }
}

#[async_trait]
impl Store for Bounded {
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>, StoreError> {
        self.call("enqueue", self.inner.enqueue(jobs, now)).await
    }

    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Result<Advanced, StoreError> {
        self.call("advance", self.inner.advance(settlements, claim, now))
            .await
    }

    async fn extend(
        &self,
        leases: &[Extension],
        now: Timestamp,
    ) -> Result<Vec<Extended>, StoreError> {
        self.call("extend", self.inner.extend(leases, now)).await
    }

    async fn heart(&self) -> Result<Box<dyn Heart>, StoreError> {
        self.call("heart", self.inner.heart()).await
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Result<bool, StoreError> {
        self.call("late", self.inner.late(job, epoch, said)).await
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Result<Vec<LeasedJob>, StoreError> {
        self.call("lapsed", self.inner.lapsed(now, limit)).await
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Result<Vec<ExpiredJob>, StoreError> {
        self.call("expire", self.inner.expire(now, limit)).await
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError> {
        self.call("write_effects", self.inner.write_effects(writes, now))
            .await
    }

    async fn effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
        self.call("effects", self.inner.effects(jobs)).await
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Result<bool, StoreError> {
        self.call("hasten", self.inner.hasten(job, now)).await
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Result<Cancelled, StoreError> {
        self.call("cancel", self.inner.cancel(job, by, now)).await
    }

    async fn replay(
        &self,
        job: JobId,
        replay: &Replay,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        self.call("replay", self.inner.replay(job, replay, now))
            .await
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Result<Steered, StoreError> {
        self.call("ignore", self.inner.ignore(job, by, now)).await
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        self.call("edit", self.inner.edit(job, payload, by, now))
            .await
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Result<(), StoreError> {
        self.call("pause", self.inner.pause(queue, by, now)).await
    }

    async fn resume(&self, queue: &Queue) -> Result<bool, StoreError> {
        self.call("resume", self.inner.resume(queue)).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        self.call("pauses", self.inner.pauses()).await
    }

    async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.call("job", self.inner.job(job)).await
    }

    async fn find(
        &self,
        tenant: &Tenant,
        kind: &Kind,
        key: &Key,
    ) -> Result<Option<JobId>, StoreError> {
        self.call("find", self.inner.find(tenant, kind, key)).await
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        self.call("jobs", self.inner.jobs(filter, before, limit))
            .await
    }

    async fn dead_groups(&self) -> Result<Vec<DeadGroup>, StoreError> {
        self.call("dead_groups", self.inner.dead_groups()).await
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, StoreError> {
        self.call("depth", self.inner.depth(now)).await
    }

    async fn maintain(&self, keep: Duration, now: Timestamp) -> Result<Maintained, StoreError> {
        let limit = self.limit * MAINTAIN_FACTOR;
        self.told(
            "maintain",
            within(limit, self.inner.maintain(keep, now)).await,
        )
    }

    async fn database_now(&self) -> Result<Timestamp, StoreError> {
        self.call("database_now", self.inner.database_now()).await
    }

    async fn announce(&self, queues: &[Queue]) -> Result<(), StoreError> {
        self.call("announce", self.inner.announce(queues)).await
    }

    async fn announcements(&self) -> Result<Option<Box<dyn Announcements>>, StoreError> {
        self.call("announcements", self.inner.announcements()).await
    }
}
