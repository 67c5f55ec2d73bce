//! A store that refuses to settle certain jobs, for good: what a broken row or a full disk looks like from above.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use surefoot::core::effect::Effect;
use surefoot::core::error::StoreError;
use surefoot::core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot::core::job::{AttemptOutcome, Job, LeasedJob, StateName};
use surefoot::core::payload::Payload;
use surefoot::core::port::*;
use surefoot::core::settle::Settlement;
use surefoot::core::text::ErrorText;
use surefoot::core::time::Timestamp;
use surefoot::{Cx, Intent, Policies};

use crate::world::{Task, World, ms, s};

type Answer<T> = Result<T, StoreError>;

struct Picky {
    inner: Arc<dyn Store>,
    refused: Mutex<HashSet<JobId>>,
    all: Mutex<bool>,
    upkeep: Mutex<u32>,
}

impl Picky {
    fn over(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            refused: Mutex::default(),
            all: Mutex::new(false),
            upkeep: Mutex::new(0),
        })
    }

    fn refuse(&self, job: JobId) {
        self.refused.lock().unwrap().insert(job);
    }

    fn refuse_all(&self, all: bool) {
        *self.all.lock().unwrap() = all;
    }
}

#[async_trait]
impl Store for Picky {
    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Answer<Advanced> {
        let refused = self.refused.lock().unwrap().clone();
        if *self.all.lock().unwrap()
            || settlements
                .iter()
                .any(|settlement| refused.contains(&settlement.job))
        {
            return Err(StoreError::Refused("no".into()));
        }
        self.inner.advance(settlements, claim, now).await
    }

    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Answer<Vec<Enqueued>> {
        self.inner.enqueue(jobs, now).await
    }

    async fn extend(&self, leases: &[Extension], now: Timestamp) -> Answer<Vec<Extended>> {
        self.inner.extend(leases, now).await
    }

    async fn heart(&self) -> Answer<Box<dyn Heart>> {
        self.inner.heart().await
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Answer<bool> {
        self.inner.late(job, epoch, said).await
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Answer<Vec<LeasedJob>> {
        self.inner.lapsed(now, limit).await
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Answer<Vec<ExpiredJob>> {
        self.inner.expire(now, limit).await
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError> {
        self.inner.write_effects(writes, now).await
    }

    async fn effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
        self.inner.effects(jobs).await
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Result<bool, StoreError> {
        self.inner.hasten(job, now).await
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Answer<Cancelled> {
        self.inner.cancel(job, by, now).await
    }

    async fn replay(&self, job: JobId, replay: &Replay, now: Timestamp) -> Answer<Steered> {
        self.inner.replay(job, replay, now).await
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Answer<Steered> {
        self.inner.ignore(job, by, now).await
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Answer<Steered> {
        self.inner.edit(job, payload, by, now).await
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Answer<()> {
        self.inner.pause(queue, by, now).await
    }

    async fn resume(&self, queue: &Queue) -> Answer<bool> {
        self.inner.resume(queue).await
    }

    async fn pauses(&self) -> Answer<Vec<Pause>> {
        self.inner.pauses().await
    }

    async fn job(&self, job: JobId) -> Answer<Option<JobRecord>> {
        self.inner.job(job).await
    }

    async fn find(&self, tenant: &Tenant, kind: &Kind, key: &Key) -> Answer<Option<JobId>> {
        self.inner.find(tenant, kind, key).await
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Answer<Vec<Job>> {
        self.inner.jobs(filter, before, limit).await
    }

    async fn dead_groups(&self) -> Answer<Vec<DeadGroup>> {
        self.inner.dead_groups().await
    }

    async fn depth(&self, now: Timestamp) -> Answer<Depth> {
        self.inner.depth(now).await
    }

    async fn maintain(&self, _: Duration, _: Timestamp) -> Answer<Maintained> {
        let mut calls = self.upkeep.lock().unwrap();
        *calls += 1;
        Ok(Maintained {
            jobs_dropped: 1,
            more: *calls < 7,
        })
    }

    async fn database_now(&self) -> Answer<Timestamp> {
        self.inner.database_now().await
    }

    async fn announce(&self, queues: &[Queue]) -> Answer<()> {
        self.inner.announce(queues).await
    }

    async fn announcements(&self) -> Answer<Option<Box<dyn Announcements>>> {
        self.inner.announcements().await
    }
}

async fn brief(task: Task, _: Cx) -> surefoot::Outcome<u32> {
    tokio::time::sleep(ms(100)).await;
    Ok(task.n)
}

#[tokio::test(start_paused = true)]
async fn a_settlement_that_the_store_refuses_does_not_hold_up_the_others() {
    let world = World::new();
    let picky = Picky::over(Arc::clone(&world.store));
    let world = World::over(Arc::clone(&picky) as Arc<dyn Store>);
    let engine = world.runs(brief).await;
    let mut broken = Vec::new();
    for n in 0..5 {
        broken.push(engine.enqueue(Task::n(n)).await.unwrap().id);
        picky.refuse(broken[broken.len() - 1]);
    }
    let intents = (5..30).map(|n| Intent::of(&Task::n(n)).unwrap()).collect();
    engine.client().enqueue_many(intents).await.unwrap();
    tokio::time::sleep(s(10)).await;
    assert_eq!(world.told.count("ended task succeeded"), 25);
    let later = engine.enqueue(Task::n(30)).await.unwrap().id;
    tokio::time::sleep(s(5)).await;
    assert_eq!(
        world.state(later).await,
        StateName::Succeeded,
        "claims go on"
    );
    for job in broken {
        assert_eq!(world.state(job).await, StateName::Running);
    }
    tokio::time::sleep(s(300)).await;
    assert_eq!(world.told.count("settlement dropped"), 5);
    assert_eq!(engine.health().running, 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_everything_for_a_while_loses_no_settlement() {
    let world = World::new();
    let picky = Picky::over(Arc::clone(&world.store));
    let world = World::over(Arc::clone(&picky) as Arc<dyn Store>);
    let engine = world.runs(brief).await;
    let intents = (0..30).map(|n| Intent::of(&Task::n(n)).unwrap()).collect();
    engine.client().enqueue_many(intents).await.unwrap();
    tokio::time::sleep(ms(50)).await;
    picky.refuse_all(true);
    tokio::time::sleep(s(1800)).await;
    picky.refuse_all(false);
    tokio::time::sleep(s(30)).await;
    assert_eq!(world.told.count("settlement dropped"), 0);
    assert_eq!(world.told.count("claimed task"), 30, "none ran twice");
    assert_eq!(world.told.count("ended task succeeded"), 30);
}

#[tokio::test(start_paused = true)]
async fn lost_leases_that_cannot_be_settled_do_not_hide_those_behind_them() {
    let world = World::new();
    let picky = Picky::over(Arc::clone(&world.store));
    let world = World::over(Arc::clone(&picky) as Arc<dyn Store>);
    let client = world.client(Policies::new()).await;
    let intents = (0..400).map(|n| Intent::of(&Task::n(n)).unwrap()).collect();
    let answers = client.enqueue_many(intents).await.unwrap();
    let worker = "gone".parse().unwrap();
    for half in answers.chunks(200) {
        let leased = client
            .lease(&worker, &[Task::kind()], Queues::All, 200)
            .await
            .unwrap();
        assert_eq!(leased.len(), half.len());
        tokio::time::sleep(s(1)).await;
    }
    // The first two pages hold hardly anything but jobs that no settlement can reach.
    let refused = |index: usize| index < 200 && index % 50 != 7;
    for (index, answer) in answers.iter().enumerate() {
        if refused(index) {
            picky.refuse(answer.job());
        }
    }
    let _node = world.node().start().await.unwrap();
    tokio::time::sleep(s(60)).await;
    for (index, answer) in answers.iter().enumerate() {
        let outcomes = world.outcomes(answer.job()).await;
        let expected = (!refused(index)).then_some(AttemptOutcome::Lost);
        assert_eq!(outcomes, [expected], "job {index}");
    }
}

#[tokio::test(start_paused = true)]
async fn upkeep_goes_on_until_nothing_is_left_and_then_rests_an_hour() {
    let world = World::new();
    let picky = Picky::over(Arc::clone(&world.store));
    let world = World::over(Arc::clone(&picky) as Arc<dyn Store>);
    let _node = world.node().start().await.unwrap();
    tokio::time::sleep(s(65)).await;
    assert_eq!(*picky.upkeep.lock().unwrap(), 7);
    tokio::time::sleep(s(6 * 3600)).await;
    let later = *picky.upkeep.lock().unwrap() - 7;
    assert!((4..=8).contains(&later), "{later} in six hours");
}
