//! One state of the model: the real store with one job in it, the provider, the workers, and what the checks remember.
//! It is told apart from others by what can still matter: times relative to now, versions relative to the one on record.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use futures_util::FutureExt;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Kind, Queue, Tenant};
use surefoot_core::job::{Attempt, Job, JobState};
use surefoot_core::payload::Payload;
use surefoot_core::port::{NewJob, Store};
use surefoot_core::time::Timestamp;
use surefoot_testkit::{ManualClock, MemoryStore};

use super::provider::Provider;
use super::worker::{OnRecord, Relative, Stage, print_effect};

/// When the model begins.
pub(super) const T0: Timestamp = Timestamp::from_micros(1_000_000_000);

/// See the module.
#[derive(Clone)]
pub(super) struct World {
    pub(super) store: MemoryStore,
    pub(super) now: Timestamp,
    pub(super) provider: Provider,
    pub(super) workers: Vec<Stage>,
    pub(super) memory: Memory,
    pub(super) job: JobId,
    /// How long a provider keeps keys, in microseconds; 0 where that does not matter.
    pub(super) keys_kept: i64,
    /// What is on record, read after each step.
    pub(super) record: Record,
}

/// What the checks remember of the way here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// Claims that took effect, answered or not.
    pub(super) started: usize,
    /// Webhooks that came.
    pub(super) hooks: u8,
    /// A cancellation was asked for.
    pub(super) cancelled: bool,
    /// The first final state of the job.
    pub(super) outcome: Option<JobState>,
    /// A write under a lost lease changed something.
    pub(super) zombie_wrote: bool,
    /// A final state changed.
    pub(super) outcome_changed: bool,
}

/// The job, its attempts and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) job: Job,
    pub(super) attempts: Vec<Attempt>,
    pub(super) effect: Option<Effect>,
}

impl World {
    /// A job that was handed in, and workers that have not begun.
    pub(super) fn begin(kind: &Kind, workers: usize, keys_kept: i64) -> Self {
        let store = MemoryStore::new(Arc::new(ManualClock::new(T0)));
        let job = JobId::new(T0, [1; 10]);
        let new = NewJob {
            id: job,
            tenant: Tenant::single(),
            kind: kind.clone(),
            key: None,
            queue: Queue::standard(),
            priority: 0,
            order_key: None,
            concurrency_key: None,
            payload: Payload::null(),
            trace: None,
            run_at: None,
            deadline_at: None,
        };
        at_once(store.enqueue(&[new], T0));
        Self {
            record: Record::read(&store, job),
            store,
            now: T0,
            provider: Provider::default(),
            workers: vec![Stage::Idle; workers],
            memory: Memory::default(),
            job,
            keys_kept,
        }
    }

    /// A copy that shares nothing.
    pub(super) fn fork(&self) -> Self {
        Self {
            store: self.store.fork(),
            ..self.clone()
        }
    }

    pub(super) fn read(&mut self) {
        self.record = Record::read(&self.store, self.job);
    }

    /// The epoch of the latest claim.
    fn epoch(&self) -> Epoch {
        self.record
            .attempts
            .last()
            .map_or(Epoch::NEVER, |attempt| attempt.epoch)
    }

    /// Whether the job runs under this epoch.
    pub(super) fn runs_under(&self, epoch: Epoch) -> bool {
        matches!(&self.record.job.state, JobState::Running(run) if run.epoch == epoch)
    }

    /// Whether the job is done with and nothing is on its way.
    pub(super) fn is_over(&self) -> bool {
        self.record.job.state.name().is_settled()
            && self.provider.is_quiet()
            && self
                .workers
                .iter()
                .all(|stage| matches!(stage, Stage::Idle))
    }

    fn print(&self) -> Vec<i64> {
        let relative = Relative {
            now: self.now,
            keys_kept: self.keys_kept,
        };
        let effect = self.record.effect.as_ref();
        let lease_until = match &self.record.job.state {
            JobState::Running(run) => Some(run.lease_until),
            JobState::Pending { .. }
            | JobState::Retrying { .. }
            | JobState::Verifying { .. }
            | JobState::Succeeded { .. }
            | JobState::Dead(_)
            | JobState::Cancelled { .. }
            | JobState::Ignored { .. } => None,
        };
        let on_record = OnRecord {
            epoch: self.epoch(),
            version: effect.map_or(0, |effect| effect.version),
            lease_until,
        };
        let mut print = Vec::with_capacity(96);
        self.record.print(&relative, &mut print);
        if let Some(effect) = effect {
            print_effect(
                effect,
                on_record.epoch,
                effect.version,
                &relative,
                &mut print,
            );
        }
        self.memory.print(self.record.attempts.len(), &mut print);
        self.provider.print(&mut print, &relative);
        // Workers are alike: it does not matter which of them stands where.
        let workers = self.workers.iter();
        let mut workers: Vec<Vec<i64>> = workers
            .map(|stage| stage.print(&on_record, &relative))
            .collect();
        workers.sort();
        print.extend(workers.into_iter().flatten());
        print
    }
}

impl Memory {
    fn print(&self, attempts: usize, into: &mut Vec<i64>) {
        into.extend([
            i64::from(self.started != attempts),
            i64::from(self.hooks),
            i64::from(self.cancelled),
            i64::from(self.zombie_wrote),
            i64::from(self.outcome_changed),
            i64::from(self.outcome.is_some()),
        ]);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.print() == other.print()
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print().hash(state);
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now.since(T0))
            .field("job", &self.record.job.state)
            .field(
                "effect",
                &self.record.effect.as_ref().map(|effect| &effect.state),
            )
            .field("provider", &self.provider)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

impl Record {
    fn read(store: &MemoryStore, job: JobId) -> Self {
        let Some(record) = at_once(store.job(job)) else {
            panic!("the model never drops its only job");
        };
        Self {
            job: record.job,
            attempts: record.attempts,
            effect: at_once(store.effects(&[job])).pop(),
        }
    }

    fn print(&self, relative: &Relative, into: &mut Vec<i64>) {
        let (first, second) = match &self.job.state {
            JobState::Running(run) => (
                relative.lease(run.lease_until),
                i64::from(run.cancel_requested),
            ),
            JobState::Pending { due_at }
            | JobState::Retrying { due_at, .. }
            | JobState::Verifying { due_at, .. } => (relative.due(*due_at), 0),
            JobState::Dead(death) => (death.reason as i64, 0),
            JobState::Succeeded { .. } | JobState::Cancelled { .. } | JobState::Ignored { .. } => {
                (0, 0)
            }
        };
        let attempts = self.attempts.iter();
        let unended = attempts.filter(|attempt| attempt.outcome.is_none());
        into.extend([
            self.job.state.name() as i64,
            first,
            second,
            i64::from(self.job.counts.failed),
            i64::from(self.job.counts.crashed),
            i64::from(self.job.counts.unknown),
            i64::try_from(unended.count()).unwrap_or(i64::MAX),
        ]);
    }
}

/// What a verb of the store in memory answers: it never waits and never fails.
pub(super) fn at_once<T>(verb: impl Future<Output = Result<T, StoreError>>) -> T {
    match verb.now_or_never() {
        Some(Ok(answer)) => answer,
        Some(Err(error)) => panic!("the store in memory refused a verb of the model: {error}"),
        None => panic!("the store in memory waited, which it never does"),
    }
}
