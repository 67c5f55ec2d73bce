//! The store as one node reaches it: through its gate, and with an eye on every write. It judges no-zombie-write and
//! one-outcome where the write takes effect, below whatever faults stand above it; it changes nothing.

use std::time::Duration;

use async_trait::async_trait;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot_core::job::{Job, JobState, LeasedJob};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Advanced, Announcements, Beat, By, Cancelled, Claim, DeadGroup, Depth, EffectWrite,
    EffectWritten, Enqueued, ExpiredJob, Extended, Extension, Heart, JobFilter, JobRecord,
    Maintained, NewJob, Pause, Replay, Settled, Steered, Store,
};
use surefoot_core::settle::Settlement;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use surefoot_testkit::MemoryStore;

use super::gate::Gate;
use super::log::Log;
use super::tally::Happened;

type Answer<T> = Result<T, StoreError>;

/// See the module. Clones are the same store by the same way.
#[derive(Clone)]
pub(super) struct Watched {
    pub(super) name: String,
    pub(super) inner: MemoryStore,
    pub(super) gate: Gate,
    pub(super) log: Log,
}

/// A job with its effects, as it was before a write.
type Before = Option<(JobState, Vec<Effect>)>;

impl Watched {
    async fn before(&self, job: JobId) -> Answer<Before> {
        let Some(record) = self.inner.job(job).await? else {
            return Ok(None);
        };
        Ok(Some((record.job.state, self.inner.effects(&[job]).await?)))
    }

    /// After a write under an epoch.
    async fn judge(&self, job: JobId, epoch: Epoch, before: &Before, what: &str) -> Answer<()> {
        let held = matches!(before, Some((JobState::Running(run), _)) if run.epoch == epoch);
        let after = self.before(job).await?;
        if !held {
            self.log.count(Happened::ZombieRefused);
            if after != *before {
                self.log.breaks(
                    "no-zombie-write",
                    format_args!("{what} of {job} under {epoch}: {before:?} became {after:?}"),
                );
            }
        }
        self.judge_outcome(job, before, &after, what);
        Ok(())
    }

    fn judge_outcome(&self, job: JobId, before: &Before, after: &Before, what: &str) {
        let (Some((state, _)), Some((now, _))) = (before, after) else {
            return;
        };
        if state.name().is_final() && state != now {
            self.log.breaks(
                "one-outcome",
                format_args!("{what} of {job}: {state:?} became {now:?}"),
            );
        }
    }

    async fn steered<T: std::fmt::Debug>(
        &self,
        job: JobId,
        what: &str,
        verb: impl Future<Output = Answer<T>>,
    ) -> Answer<T> {
        let before = self.before(job).await?;
        let answer = verb.await?;
        let after = self.before(job).await?;
        self.judge_outcome(job, &before, &after, what);
        self.log
            .line(format_args!("{}: {what} {job}: {answer:?}", self.name));
        Ok(answer)
    }

    async fn settle_and_claim(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Answer<Advanced> {
        // One after the other, and before the claim, so that each is judged by what it found. The store does the same in
        // one step, and nothing else runs in between.
        let mut answer = Advanced::default();
        for settlement in settlements {
            let (job, epoch) = (settlement.job, settlement.fence.epoch);
            let before = self.before(job).await?;
            let one = std::slice::from_ref(settlement);
            let settled = self.inner.advance(one, None, now).await?.settled;
            self.judge(job, epoch, &before, "settle").await?;
            for settled in settled {
                self.tell_settled(settlement, settled);
                answer.settled.push(settled);
            }
        }
        if claim.is_some() {
            let claimed = self.inner.advance(&[], claim, now).await?;
            answer.leased = claimed.leased;
            answer.next_due = claimed.next_due;
        }
        for job in &answer.leased {
            let (id, epoch) = (job.id, job.state.epoch);
            self.log
                .line(format_args!("{}: claimed {id} under {epoch}", self.name));
        }
        Ok(answer)
    }

    fn tell_settled(&self, settlement: &Settlement, settled: Settled) {
        let (job, epoch) = (settlement.job, settlement.fence.epoch);
        self.log.line(format_args!(
            "{}: settle {job} under {epoch} {:?} -> {:?}: {settled:?}",
            self.name, settlement.outcome, settlement.next
        ));
        if settled == Settled::Applied && settlement.fence.lapsed_before.is_some() {
            self.log.count(Happened::Reaped);
        }
        let error = settlement.error.as_ref();
        if error.is_some_and(|error| error.as_str().contains("too late for the call to leave")) {
            self.log.count(Happened::FencedItself);
        }
    }

    async fn extended(&self, leases: &[Extension], now: Timestamp) -> Answer<Vec<Extended>> {
        let mut answers = Vec::new();
        for lease in leases {
            let before = self.before(lease.job).await?;
            answers.extend(self.inner.extend(&[*lease], now).await?);
            self.judge(lease.job, lease.epoch, &before, "extend")
                .await?;
        }
        Ok(answers)
    }

    async fn written(&self, writes: &[EffectWrite], now: Timestamp) -> Answer<Vec<EffectWritten>> {
        let mut answers = Vec::new();
        for write in writes {
            let job = write.effect.job;
            let before = self.before(job).await?;
            let mut answer = self
                .inner
                .write_effects(std::slice::from_ref(write), now)
                .await?;
            if let Some(epoch) = write.fence {
                self.judge(job, epoch, &before, "write of an effect")
                    .await?;
            }
            let (place, state) = (write.effect.place, write.effect.state.as_str());
            let fence = write.fence.map(|epoch| epoch.0);
            let version = write.effect.version;
            self.log.line(format_args!(
                "{}: effect {place} of {job} {state} v{version} under {fence:?}: {answer:?}",
                self.name
            ));
            answers.append(&mut answer);
        }
        Ok(answers)
    }
}

#[async_trait]
impl Store for Watched {
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Answer<Vec<Enqueued>> {
        let verb = async {
            let answers = self.inner.enqueue(jobs, now).await?;
            self.log
                .line(format_args!("{}: enqueue {answers:?}", self.name));
            self.log.with(|state| {
                for answer in &answers {
                    if let Enqueued::Created(job) = answer
                        && !state.written.contains(job)
                    {
                        state.written.push(*job);
                    }
                }
            });
            Ok(answers)
        };
        self.gate.pass(verb).await
    }

    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Answer<Advanced> {
        let verb = self.settle_and_claim(settlements, claim, now);
        self.gate.pass(verb).await
    }

    async fn extend(&self, leases: &[Extension], now: Timestamp) -> Answer<Vec<Extended>> {
        self.gate.pass(self.extended(leases, now)).await
    }

    async fn heart(&self) -> Answer<Box<dyn Heart>> {
        self.gate.open().await;
        Ok(Box::new(WatchedHeart(self.clone())))
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Answer<bool> {
        self.gate.pass(self.inner.late(job, epoch, said)).await
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Answer<Vec<LeasedJob>> {
        self.gate.pass(self.inner.lapsed(now, limit)).await
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Answer<Vec<ExpiredJob>> {
        self.gate.pass(self.inner.expire(now, limit)).await
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        now: Timestamp,
    ) -> Answer<Vec<EffectWritten>> {
        self.gate.pass(self.written(writes, now)).await
    }

    async fn effects(&self, jobs: &[JobId]) -> Answer<Vec<Effect>> {
        self.gate.pass(self.inner.effects(jobs)).await
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Answer<bool> {
        let verb = self.steered(job, "hasten", self.inner.hasten(job, now));
        self.gate.pass(verb).await
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Answer<Cancelled> {
        let verb = self.steered(job, "cancel", self.inner.cancel(job, by, now));
        self.gate.pass(verb).await
    }

    async fn replay(&self, job: JobId, replay: &Replay, now: Timestamp) -> Answer<Steered> {
        let verb = self.steered(job, "replay", self.inner.replay(job, replay, now));
        self.gate.pass(verb).await
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Answer<Steered> {
        let verb = self.steered(job, "ignore", self.inner.ignore(job, by, now));
        self.gate.pass(verb).await
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Answer<Steered> {
        let verb = self.steered(job, "edit", self.inner.edit(job, payload, by, now));
        self.gate.pass(verb).await
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Answer<()> {
        self.gate.pass(self.inner.pause(queue, by, now)).await
    }

    async fn resume(&self, queue: &Queue) -> Answer<bool> {
        self.gate.pass(self.inner.resume(queue)).await
    }

    async fn pauses(&self) -> Answer<Vec<Pause>> {
        self.gate.pass(self.inner.pauses()).await
    }

    async fn job(&self, job: JobId) -> Answer<Option<JobRecord>> {
        self.gate.pass(self.inner.job(job)).await
    }

    async fn find(&self, tenant: &Tenant, kind: &Kind, key: &Key) -> Answer<Option<JobId>> {
        self.gate.pass(self.inner.find(tenant, kind, key)).await
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Answer<Vec<Job>> {
        self.gate.pass(self.inner.jobs(filter, before, limit)).await
    }

    async fn dead_groups(&self) -> Answer<Vec<DeadGroup>> {
        self.gate.pass(self.inner.dead_groups()).await
    }

    async fn depth(&self, now: Timestamp) -> Answer<Depth> {
        self.gate.pass(self.inner.depth(now)).await
    }

    async fn maintain(&self, keep: Duration, now: Timestamp) -> Answer<Maintained> {
        self.gate.pass(self.inner.maintain(keep, now)).await
    }

    async fn database_now(&self) -> Answer<Timestamp> {
        self.gate.pass(self.inner.database_now()).await
    }

    async fn announce(&self, queues: &[Queue]) -> Answer<()> {
        self.gate.pass(self.inner.announce(queues)).await
    }

    /// Nodes live on runtimes of their own, so they find each other's work by polling.
    async fn announcements(&self) -> Answer<Option<Box<dyn Announcements>>> {
        Ok(None)
    }
}

struct WatchedHeart(Watched);

#[async_trait]
impl Heart for WatchedHeart {
    async fn beat(&mut self, leases: &[Extension], now: Timestamp) -> Answer<Beat> {
        let store = &self.0;
        let verb = async {
            Ok(Beat {
                extended: store.extended(leases, now).await?,
                database_now: store.inner.database_now().await?,
            })
        };
        store.gate.pass(verb).await
    }
}
