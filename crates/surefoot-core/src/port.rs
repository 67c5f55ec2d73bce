//! The port between the engine and what remembers. Each verb is one atomic transition, cut by use case; a store
//! applies what core decided and answers what it found. Stores differ in nothing that a caller can see: the store
//! contract in `surefoot-testkit` says what each verb does, and every store passes it.
//!
//! Rules that hold for every verb:
//! - `now` is the caller's time; a store reads no clock of its own except in [`Store::database_now`] and [`Heart::beat`].
//! - After a [`StoreError::Unavailable`] nobody knows whether the verb took effect, and it may be repeated with the
//!   same arguments. A repeated enqueue or settlement answers as if it had run once; a repeated claim takes further
//!   jobs, and those whose first answer was lost lapse; a repeated order of a person is refused with the state that
//!   the first one led to.
//! - Answers to a batch stand in the order of the batch; one refused item never spoils the others.
//! - Everything returned is bounded by an argument or by a named limit.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::id::{Actor, ConcurrencyKey, Epoch, JobId, Key, Kind, OrderKey, Queue, Tenant, Worker};
use crate::job::{Attempt, DeadReason, Job, LeasedJob, StateName, TraceContext};
use crate::payload::Payload;
use crate::policy::Recovery;
use crate::settle::Settlement;
use crate::text::{ErrorFingerprint, ErrorText};
use crate::time::Timestamp;

/// The most items in one batch of any verb.
pub const BATCH_MAX: usize = 1000;
/// The most jobs on one page.
pub const PAGE_MAX: u32 = 500;
/// The most attempts, revisions and actions that [`Store::job`] returns, the latest ones.
pub const JOB_RECORDS_MAX: usize = 1000;

/// What remembers jobs.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Writes jobs down, at most [`BATCH_MAX`]. A job with a key that its (tenant, kind) already has is not written:
    /// the answer names the first one and says whether the payloads are the same by canonical form (the payload as
    /// first enqueued counts, not as edited). A job whose id is already there is the same call repeated and answers
    /// [`Enqueued::Created`].
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>, StoreError>;

    /// Applies settlements, then claims, in one transaction. Either part may be empty.
    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Result<Advanced, StoreError>;

    /// Extends leases, answering for each whether it still holds. See [`Heart`] for the engine's own heartbeat.
    async fn extend(&self, leases: &[Extension], now: Timestamp) -> Result<Vec<Extended>, StoreError>;

    /// A connection of its own for the heartbeat, made in the runtime that calls this, so that a blocked main
    /// runtime or an exhausted pool cannot stop it.
    async fn heart(&self) -> Result<Box<dyn Heart>, StoreError>;

    /// Running jobs whose lease ended before `now`, the longest ended first, at most `limit`. To be settled as
    /// lost; the settlement's fence makes that harmless when one of them was extended or settled meanwhile.
    async fn lapsed(&self, now: Timestamp, limit: u32) -> Result<Vec<LeasedJob>, StoreError>;

    /// Makes dead letters ([`crate::settle::expired`]) of waiting jobs whose deadline is not after `now`, at most
    /// `limit`; answers which.
    async fn expire(&self, now: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError>;

    /// Withdraws a job: at once when it waits; by request to its holder when it runs.
    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Result<Cancelled, StoreError>;

    /// Makes a dead letter pending again, due at `now`, with its counts (but `starts`) at zero.
    async fn replay(&self, job: JobId, replay: &Replay, now: Timestamp) -> Result<Steered, StoreError>;

    /// Sets a dead letter aside for good.
    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Result<Steered, StoreError>;

    /// Replaces a dead letter's payload; the earlier one stays as a [`Revision`].
    async fn edit(&self, job: JobId, payload: &Payload, by: &By, now: Timestamp) -> Result<Steered, StoreError>;

    /// Stops claims from a queue, on all nodes. Pausing a paused queue keeps the first pause.
    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Result<(), StoreError>;

    /// Lets claims from a queue go on; answers whether it was paused.
    async fn resume(&self, queue: &Queue) -> Result<bool, StoreError>;

    /// The paused queues, by name.
    async fn pauses(&self) -> Result<Vec<Pause>, StoreError>;

    /// One job with its records.
    async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError>;

    /// The id of the job that holds a key.
    async fn find(&self, tenant: &Tenant, kind: &Kind, key: &Key) -> Result<Option<JobId>, StoreError>;

    /// Jobs that match, the latest enqueued (the highest id) first, at most `limit` and [`PAGE_MAX`].
    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError>;

    /// Dead letters by kind, reason and error fingerprint, the largest group first, at most [`PAGE_MAX`] groups.
    async fn dead_groups(&self) -> Result<Vec<DeadGroup>, StoreError>;

    /// What waits, runs and is dead.
    async fn depth(&self, now: Timestamp) -> Result<Depth, StoreError>;

    /// Prepares history partitions ahead of `now` and drops what ended longer ago than `keep`, in bounded steps.
    /// Dead letters and waiting or running jobs are never dropped. A dropped job's key is free again.
    async fn maintain(&self, keep: Duration, now: Timestamp) -> Result<Maintained, StoreError>;

    /// The database's clock.
    async fn database_now(&self) -> Result<Timestamp, StoreError>;

    /// Tells other nodes that these queues have work; best effort, outside any caller's transaction.
    async fn announce(&self, queues: &[Queue]) -> Result<(), StoreError>;

    /// Announcements of other nodes, where the database carries them; `None` where only polling does.
    async fn announcements(&self) -> Result<Option<Box<dyn Announcements>>, StoreError>;
}

/// Extends leases on a connection of its own.
#[async_trait]
pub trait Heart: Send {
    /// Extends leases as [`Store::extend`] does, and reads the database's clock.
    async fn beat(&mut self, leases: &[Extension], now: Timestamp) -> Result<Beat, StoreError>;
}

/// A stream of announcements on a connection of its own.
#[async_trait]
pub trait Announcements: Send {
    /// Waits for the next announcement. An error means that the connection is gone: get a new stream.
    async fn next(&mut self) -> Result<Queue, StoreError>;
}

/// A job to write down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Made by the caller, so that a repeated call is seen as one.
    pub id: JobId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What it does.
    pub kind: Kind,
    /// What makes it one intent; without a key nothing is deduplicated.
    pub key: Option<Key>,
    /// Where it waits.
    pub queue: Queue,
    /// A higher number runs earlier.
    pub priority: i16,
    /// One at a time, first in first out.
    pub order_key: Option<OrderKey>,
    /// Shares a limit.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// What the handler is given.
    pub payload: Payload,
    /// The caller's trace context.
    pub trace: Option<TraceContext>,
    /// The earliest time it runs; `None` is at once.
    pub run_at: Option<Timestamp>,
    /// After this no attempt starts.
    pub deadline_at: Option<Timestamp>,
}

/// What became of a job that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It was written down.
    Created(JobId),
    /// Its key was there already, with the same payload.
    Existing(JobId),
    /// Its key was there already, with another payload; nothing was written.
    Conflict(JobId),
}

impl Enqueued {
    /// The job that holds the key.
    #[must_use]
    pub const fn job(self) -> JobId {
        match self {
            Self::Created(job) | Self::Existing(job) | Self::Conflict(job) => job,
        }
    }
}

/// What a worker would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who claims.
    pub worker: Worker,
    /// The kinds it can run, each with its terms. Jobs of other kinds are left alone.
    pub kinds: Vec<KindTerms>,
    /// Which queues it serves.
    pub queues: Queues,
    /// How many jobs of a queue may run at once over all nodes; a queue that is not named has no limit.
    pub queue_limits: BTreeMap<Queue, u32>,
    /// The most jobs to claim, at most [`BATCH_MAX`].
    pub max: u32,
}

/// Which queues a claim takes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queues {
    /// Every queue there is.
    All,
    /// These.
    Only(Vec<Queue>),
}

/// The terms under which a kind is claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindTerms {
    /// Which kind.
    pub kind: Kind,
    /// How long the lease holds.
    pub lease: Duration,
    /// Written on the lease, for whoever finds it lost.
    pub recovery: Option<Recovery>,
    /// How many jobs of this kind run at once over all nodes.
    pub concurrency_max: Option<u32>,
    /// How many jobs of this kind and one concurrency key run at once over all nodes.
    pub concurrency_per_key_max: Option<u32>,
}

/// What [`Store::advance`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// For each settlement, what became of it.
    pub settled: Vec<Settled>,
    /// What was claimed: fair over queues; within a queue by priority, due time and age.
    pub leased: Vec<LeasedJob>,
    /// When the next job of the claimed kinds and queues becomes due, if one is waiting for its time.
    pub next_due: Option<Timestamp>,
}

/// What became of a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was applied.
    Applied,
    /// It had been applied already: the same call, repeated.
    Already,
    /// The job is not running under this epoch (or not lapsed) any more. Nothing was written.
    Stale,
}

/// A lease to extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Which job.
    pub job: JobId,
    /// The epoch of the lease.
    pub epoch: Epoch,
    /// Until when; a lease is never shortened.
    pub until: Timestamp,
}

/// What became of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extended {
    /// It holds.
    Held {
        /// Until when.
        until: Timestamp,
        /// Somebody asked to cancel the job.
        cancel_requested: bool,
    },
    /// It does not hold any more. Nothing was written.
    Lost,
}

/// What a heartbeat found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// For each lease, what became of it.
    pub extended: Vec<Extended>,
    /// The database's clock.
    pub database_now: Timestamp,
}

/// Who did something by hand, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// Who.
    pub actor: Actor,
    /// Why.
    pub reason: ErrorText,
}

/// What became of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It waited and is cancelled.
    Done,
    /// It runs; its holder is told with the next heartbeat.
    Requested,
    /// Its state allows no cancellation.
    Refused(StateName),
    /// There is no such job.
    NotFound,
}

/// A person's order to run a dead letter again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Whether the provider is to see the same effect or a new one. Must be said where the outcome is unknown.
    pub effect: Option<ReplayEffect>,
    /// Who and why.
    pub by: By,
}

/// Whether a replay is the same effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayEffect {
    /// The same provider key as before.
    Same,
    /// A new provider key: the provider may do it again.
    New,
}

impl DeadReason {
    /// Whether a replay must say if it is the same effect: the dead one may have happened.
    #[must_use]
    pub const fn needs_effect_choice(self) -> bool {
        match self {
            Self::OutcomeUnknown | Self::CrashLoop => true,
            Self::Permanent | Self::Exhausted | Self::Deadline => false,
        }
    }
}

/// What became of a person's order on a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steered {
    /// Done.
    Done,
    /// Only a dead letter can be steered; this job is in another state.
    Refused(StateName),
    /// The outcome is unknown: say whether it is the same effect or a new one.
    NeedsEffectChoice,
    /// There is no such job.
    NotFound,
}

/// A paused queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Which.
    pub queue: Queue,
    /// Since when.
    pub at: Timestamp,
    /// Who and why.
    pub by: By,
}

/// A job and what is on record about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// Its attempts by number, the running one included; the latest [`JOB_RECORDS_MAX`].
    pub attempts: Vec<Attempt>,
    /// Its earlier payloads, oldest first.
    pub revisions: Vec<Revision>,
    /// What people did to it, oldest first.
    pub actions: Vec<Action>,
}

/// A payload that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// 0 for the payload as first enqueued.
    pub number: u32,
    /// The payload before the edit.
    pub payload: Payload,
    /// When it was replaced.
    pub replaced_at: Timestamp,
    /// Who replaced it and why.
    pub by: By,
}

/// Something that a person did to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What.
    pub verb: ActionVerb,
    /// When.
    pub at: Timestamp,
    /// Who and why.
    pub by: By,
}

/// What a person can do to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionVerb {
    /// `cancel`
    Cancel,
    /// `replay`: as the same effect.
    Replay,
    /// `replay_new`: as a new effect.
    ReplayNew,
    /// `ignore`
    Ignore,
    /// `edit`
    Edit,
}

impl ActionVerb {
    /// Every verb.
    pub const ALL: [Self; 5] = [Self::Cancel, Self::Replay, Self::ReplayNew, Self::Ignore, Self::Edit];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Replay => "replay",
            Self::ReplayNew => "replay_new",
            Self::Ignore => "ignore",
            Self::Edit => "edit",
        }
    }

    /// The verb with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }
}

/// Which jobs to list; every field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// The tenant.
    pub tenant: Option<Tenant>,
    /// The state.
    pub state: Option<StateName>,
    /// The kind.
    pub kind: Option<Kind>,
    /// The queue.
    pub queue: Option<Queue>,
    /// The key.
    pub key: Option<Key>,
    /// The error fingerprint, of dead letters only.
    pub fingerprint: Option<ErrorFingerprint>,
}

/// Dead letters that share a kind, a reason and an error fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadGroup {
    /// Their kind.
    pub kind: Kind,
    /// Their reason.
    pub reason: DeadReason,
    /// Their fingerprint.
    pub fingerprint: ErrorFingerprint,
    /// The error of the latest of them.
    pub error: ErrorText,
    /// The latest of them: the one to replay first.
    pub latest: JobId,
    /// How many.
    pub count: u64,
    /// When the first of them died.
    pub oldest_at: Timestamp,
    /// When the latest of them died.
    pub latest_at: Timestamp,
}

/// How much waits, runs and is dead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// One entry for each (queue, kind, state) that has jobs, of the states `pending`, `running`, `retrying`
    /// and `dead`; in the order of queue, kind, state.
    pub counts: Vec<DepthCount>,
    /// The due time of the job that is due the longest, among jobs that wait and are due.
    pub oldest_due: Option<Timestamp>,
    /// When the oldest dead letter died.
    pub oldest_dead: Option<Timestamp>,
}

/// One line of [`Depth`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DepthCount {
    /// The queue.
    pub queue: Queue,
    /// The kind.
    pub kind: Kind,
    /// The state.
    pub state: StateName,
    /// How many.
    pub count: u64,
}

/// What [`Store::maintain`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Jobs that left history.
    pub jobs_dropped: u64,
    /// Whether there is more to drop: call again.
    pub more: bool,
}
