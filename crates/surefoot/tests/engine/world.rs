//! What every test needs: a store in memory on the runtime's clock, engines over it, a record of what was told.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::error::StoreError;
use surefoot::core::id::{Actor, JobId, Kind, Queue, Worker};
use surefoot::core::job::{Attempt, AttemptOutcome, Death, JobState, StateName};
use surefoot::core::port::{By, JobRecord, Store};
use surefoot::core::time::Timestamp;
use surefoot::{
    Client, Cx, Engine, EngineBuilder, EngineOptions, Event, Heartbeat, Job, JobPolicy, NoObserver,
    Observer, Outcome, Policies,
};
use surefoot_testkit::{MemoryStore, TokioClock};

/// A database that several nodes share.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) told: Arc<Told>,
}

impl World {
    pub(crate) fn new() -> Self {
        let base = Timestamp::from_micros(1_800_000_000_000_000);
        let clock = Arc::new(TokioClock::starting_at(base));
        Self::over(Arc::new(MemoryStore::new(clock)))
    }

    pub(crate) fn over(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            told: Arc::default(),
        }
    }

    /// A node to be told what it runs.
    pub(crate) fn node(&self) -> EngineBuilder {
        let observer: Arc<dyn Observer> = Arc::<Told>::clone(&self.told);
        Engine::over(Arc::clone(&self.store))
            .options(options())
            .observer(observer)
    }

    /// A node that runs tasks by a handler under the default policy.
    pub(crate) async fn runs<F, Fut>(&self, run: F) -> Engine
    where
        F: Fn(Task, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<u32>> + Send + 'static,
    {
        self.runs_with(options(), run).await
    }

    /// The same with these options.
    pub(crate) async fn runs_with<F, Fut>(&self, options: EngineOptions, run: F) -> Engine
    where
        F: Fn(Task, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<u32>> + Send + 'static,
    {
        let builder = self.node().options(options);
        let builder = builder.handle(run, JobPolicy::default());
        builder.start().await.unwrap()
    }

    /// A client of another process.
    pub(crate) async fn client(&self, policies: Policies) -> Client {
        let observer = Arc::new(NoObserver);
        Client::connect(Arc::clone(&self.store), Arc::new(policies), observer)
            .await
            .unwrap()
    }

    pub(crate) async fn job(&self, job: JobId) -> JobRecord {
        self.store.job(job).await.unwrap().unwrap()
    }

    pub(crate) async fn state(&self, job: JobId) -> StateName {
        self.job(job).await.job.state.name()
    }

    pub(crate) async fn outcomes(&self, job: JobId) -> Vec<Option<AttemptOutcome>> {
        self.job(job)
            .await
            .attempts
            .iter()
            .map(|attempt| attempt.outcome)
            .collect()
    }

    pub(crate) async fn death(&self, job: JobId) -> Death {
        match self.job(job).await.job.state {
            JobState::Dead(death) => death,
            other => panic!("not dead but {other:?}"),
        }
    }

    /// Waits until the engine is done with a job, at most a day.
    pub(crate) async fn settled(&self, job: JobId) -> JobRecord {
        for _ in 0..864_000 {
            let record = self.job(job).await;
            if record.job.state.name().is_settled() {
                return record;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("job {job} was never settled: {:?}", self.job(job).await);
    }

    /// The times between the end of an attempt and the start of the next.
    pub(crate) async fn gaps(&self, job: JobId) -> Vec<Duration> {
        let attempts = self.job(job).await.attempts;
        let gap = |pair: &[Attempt]| pair[1].started_at.since(pair[0].ended_at.unwrap());
        attempts.windows(2).map(gap).collect()
    }
}

/// Options of a node with a name of its own.
pub(crate) fn options() -> EngineOptions {
    static NODES: AtomicU32 = AtomicU32::new(0);
    let number = NODES.fetch_add(1, Ordering::Relaxed);
    EngineOptions {
        heartbeat: Heartbeat::Task,
        worker: Some(Worker::new(format!("node-{number}")).unwrap()),
        ..EngineOptions::default()
    }
}

/// What the observer was told, one line each.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<Vec<String>>);

impl Told {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.lines()
            .iter()
            .filter(|line| line.starts_with(what))
            .count()
    }
}

impl Observer for Told {
    fn on(&self, event: &Event<'_>) {
        let line = match event {
            Event::Enqueued { kind, .. } => format!("enqueued {kind}"),
            Event::Claimed { job, .. } => format!("claimed {}", job.kind),
            Event::AttemptEnded {
                job, outcome, next, ..
            } => {
                format!("ended {} {} {}", job.kind, outcome.as_str(), next.as_str())
            }
            Event::DeadLetter { reason, .. } => format!("dead {}", reason.as_str()),
            Event::LeaseLost { kind, .. } => format!("lease lost {kind}"),
            Event::StaleWrite { .. } => "stale write".to_owned(),
            Event::Abandoned { kind, .. } => format!("abandoned {kind}"),
            Event::SettlementDropped { .. } => "settlement dropped".to_owned(),
            Event::EffectVerified {
                effect, verdict, ..
            } => format!("verified {} {}", effect.name, verdict.as_str()),
            Event::EffectDisputed { effect, .. } => format!("disputed {}", effect.name),
            Event::EffectNeedsHuman { effect, .. } => format!("needs human {}", effect.name),
            Event::StoreError { verb, error } => format!("store error {verb} {}", chain(error)),
        };
        self.0.lock().unwrap().push(line);
    }
}

fn chain(error: &StoreError) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// The job of most tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) n: u32,
    pub(crate) key: Option<String>,
    pub(crate) order_key: Option<String>,
    pub(crate) priority: i16,
}

impl Task {
    pub(crate) fn n(n: u32) -> Self {
        Self {
            n,
            ..Self::default()
        }
    }

    pub(crate) fn kind() -> Kind {
        Kind::new(Self::KIND).unwrap()
    }
}

impl Job for Task {
    const KIND: &'static str = "task";
    type Output = u32;

    fn key(&self) -> Option<String> {
        self.key.clone()
    }

    fn order_key(&self) -> Option<String> {
        self.order_key.clone()
    }

    fn priority(&self) -> i16 {
        self.priority
    }
}

/// A default policy that waits exactly so long after each failure.
pub(crate) fn policy_with_backoff(seconds: &[u64]) -> JobPolicy {
    let delays = seconds.iter().copied().map(Duration::from_secs).collect();
    JobPolicy {
        backoff: Backoff::List {
            delays,
            jitter: Jitter::None,
        },
        ..JobPolicy::default()
    }
}

pub(crate) const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn by() -> By {
    By {
        actor: Actor::new("ada").unwrap(),
        reason: "because".into(),
    }
}

pub(crate) fn queue(name: &str) -> Queue {
    Queue::new(name).unwrap()
}

/// Something that handlers write and tests read.
#[derive(Debug, Default)]
pub(crate) struct Notes<T>(Mutex<Vec<T>>);

impl<T: Clone + Debug> Notes<T> {
    pub(crate) fn add(&self, note: T) {
        self.0.lock().unwrap().push(note);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

pub(crate) fn notes<T>() -> Arc<Notes<T>> {
    Arc::new(Notes(Mutex::new(Vec::new())))
}
