//! The verbs. Each is one atomic transition.

use super::JobRecord;
use super::{Advanced, Claim};
use super::{Beat, ExpiredJob, Extended, Extension};
use super::{By, Cancelled, Pause, Replay, Steered};
use super::{DeadGroup, Depth, JobFilter, Maintained};
use super::{EffectWrite, EffectWritten};
use super::{Enqueued, NewJob};
use crate::effect::Effect;
use crate::error::StoreError;
use crate::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use crate::job::{Job, LeasedJob};
use crate::payload::Payload;
use crate::settle::Settlement;
use crate::text::ErrorText;
use crate::time::Timestamp;
use async_trait::async_trait;
use std::time::Duration;

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
    ///
    /// A settlement applies when the job runs under the fence's epoch (and its lease ended before
    /// `lapsed_before`, where that is set).
    ///
    /// A job may be claimed when it is pending, retrying or verifying, due at `now` or earlier, its deadline is after
    /// `now` (a verifying job is asked about whatever its deadline), the claim serves its kind and its queue, its queue
    /// is not paused, and it is its turn: under one (tenant, order key) that is the job that is running, retrying or
    /// verifying, and only where there is none, the pending job that was enqueued first (in the order of arrival, not
    /// of ids).
    ///
    /// Jobs that may be claimed are ranked within their queue by priority (high first), due time and arrival, and taken
    /// by rank, then by the queue's name, as far as the limits allow; what the same call takes counts. A claimed job
    /// runs under the next epoch, one start more.
    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Result<Advanced, StoreError>;

    /// Extends leases, answering for each whether it still holds. See [`Heart`] for the engine's own heartbeat.
    async fn extend(
        &self,
        leases: &[Extension],
        now: Timestamp,
    ) -> Result<Vec<Extended>, StoreError>;

    /// A connection of its own for the heartbeat, made in the runtime that calls this, so that a blocked main
    /// runtime or an exhausted pool cannot stop it.
    async fn heart(&self) -> Result<Box<dyn Heart>, StoreError>;

    /// Keeps what a holder said of its attempt after it was settled without it, as lost, on that attempt's record; nothing
    /// else changes. The first word stays. Answers whether there is such an attempt.
    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Result<bool, StoreError>;

    /// Running jobs whose lease ended before `now`, the longest ended first, at most `limit`. To be settled as
    /// lost; the settlement's fence makes that harmless when one of them was extended or settled meanwhile.
    async fn lapsed(&self, now: Timestamp, limit: u32) -> Result<Vec<LeasedJob>, StoreError>;

    /// Makes dead letters ([`crate::settle::expired`]) of pending and retrying jobs whose deadline is not after `now`,
    /// at most `limit`; answers which.
    async fn expire(&self, now: Timestamp, limit: u32) -> Result<Vec<ExpiredJob>, StoreError>;

    /// Writes effects down, at most [`BATCH_MAX`], each by itself: one refused write never spoils the others. A write
    /// with a fence applies only while the job runs under that epoch, and extends its lease where it says so; one
    /// without a fence applies in every state of the job. The effects of a job stay as long as the job.
    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError>;

    /// The effects of jobs, at most [`BATCH_MAX`] of them, by job in the order asked and by place.
    async fn effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError>;

    /// Makes a verifying job due at `now`, where it was due later: there is news of its effect. Answers whether the job
    /// is verifying.
    async fn hasten(&self, job: JobId, now: Timestamp) -> Result<bool, StoreError>;

    /// Withdraws a job: at once when it waits; by request to its holder when it runs, and by request to its next
    /// holder when it is verifying or waits with an unknown outcome ([`Counts::unknown`](crate::job::Counts::unknown)), for
    /// what may have happened cannot be withdrawn ([`Cancelled::Requested`]). A settlement of a job that was asked to
    /// stop, after which it would be pending or retrying, cancels it; a request stays with a job that becomes verifying,
    /// or waits with an unknown outcome, and is told with its next claim.
    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Result<Cancelled, StoreError>;

    /// Makes a dead letter pending again, due at `now`, with its counts at zero, but `starts`, and `unknown` where it is
    /// the same effect. A deadline that has passed is taken away: a person wants it to run.
    async fn replay(
        &self,
        job: JobId,
        replay: &Replay,
        now: Timestamp,
    ) -> Result<Steered, StoreError>;

    /// Sets a dead letter aside for good.
    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Result<Steered, StoreError>;

    /// Replaces a dead letter's payload; the earlier one stays as a [`Revision`].
    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Result<Steered, StoreError>;

    /// Stops claims from a queue, on all nodes. Pausing a paused queue keeps the first pause.
    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Result<(), StoreError>;

    /// Lets claims from a queue go on; answers whether it was paused.
    async fn resume(&self, queue: &Queue) -> Result<bool, StoreError>;

    /// The paused queues, by name.
    async fn pauses(&self) -> Result<Vec<Pause>, StoreError>;

    /// One job with its records.
    async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError>;

    /// The id of the job that holds a key.
    async fn find(
        &self,
        tenant: &Tenant,
        kind: &Kind,
        key: &Key,
    ) -> Result<Option<JobId>, StoreError>;

    /// Jobs that match, the latest enqueued (the highest id) first, at most `limit` and [`PAGE_MAX`].
    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError>;

    /// Dead letters by kind, reason and error fingerprint, the largest group first, those of one size by kind, reason
    /// and fingerprint; at most [`PAGE_MAX`] groups.
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
