//! What a handler knows of the attempt it runs. It reads; it changes nothing in the store.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::id::{Epoch, JobId, Key, Kind, ProviderKey, Tenant};
use surefoot_core::job::{LeasedJob, TraceContext};
use surefoot_core::time::Timestamp;
use surefoot_core::timeouts::TimeoutKind;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::running::Running;

/// Why a handler is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelCause {
    /// Somebody asked to cancel the job. The handler may finish; a success stays a success.
    Requested,
    /// The lease is not held any more: nothing that the handler does counts, and another attempt may run.
    LeaseLost,
    /// A time-out fired. The handler is dropped after a short grace.
    TimedOut(TimeoutKind),
    /// The node drains and its grace is over. The handler is dropped after a short grace.
    Draining,
}

/// One attempt of a job, as its handler sees it; cheap to clone.
#[derive(Clone, Debug)]
pub struct Cx {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    job: JobId,
    tenant: Tenant,
    kind: Kind,
    key: Option<Key>,
    attempt: u32,
    provider_key: ProviderKey,
    trace: Option<TraceContext>,
    deadline_at: Option<Timestamp>,
    ends_at: Instant,
    running: Arc<Running>,
}

impl Cx {
    pub(crate) fn of(job: &LeasedJob, running: Arc<Running>, ends_at: Instant) -> Self {
        Self {
            inner: Arc::new(Inner {
                job: job.id,
                tenant: job.tenant.clone(),
                kind: job.kind.clone(),
                key: job.key.clone(),
                attempt: job.counts.starts,
                provider_key: job.provider_key(),
                trace: job.trace.clone(),
                deadline_at: job.deadline_at,
                ends_at,
                running,
            }),
        }
    }

    /// A context outside the engine, to call a handler by hand: its time runs from now, and nobody cancels it.
    #[must_use]
    pub fn standalone(job: &LeasedJob, time_left: Duration) -> Self {
        let ends_at = Instant::now() + time_left;
        Self::of(
            job,
            Arc::new(Running::new(job, time_left, ends_at)),
            ends_at,
        )
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.inner.job
    }

    /// Whose job it is.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.inner.tenant
    }

    /// The job's kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.inner.kind
    }

    /// The key that the caller gave the job.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        self.inner.key.as_ref()
    }

    /// The attempt's number, 1 for the first start of the job.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.inner.attempt
    }

    /// The epoch of the lease.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.inner.running.epoch
    }

    /// The key to give to the provider: the same on every attempt of the job.
    #[must_use]
    pub fn provider_key(&self) -> &ProviderKey {
        &self.inner.provider_key
    }

    /// The trace context of whoever enqueued the job.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceContext> {
        self.inner.trace.as_ref()
    }

    /// The job's total deadline over all attempts.
    #[must_use]
    pub fn deadline_at(&self) -> Option<Timestamp> {
        self.inner.deadline_at
    }

    /// When the attempt's time is over: its time-out or the job's deadline, whichever is earlier.
    #[must_use]
    pub fn ends_at(&self) -> Instant {
        self.inner.ends_at
    }

    /// How much of that time is left; zero when it is over.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.inner.ends_at.saturating_duration_since(Instant::now())
    }

    /// Waits until the handler is asked to stop, and says why.
    pub async fn cancelled(&self) -> CancelCause {
        self.inner.running.token().cancelled().await;
        self.cancel_cause().unwrap_or(CancelCause::Requested)
    }

    /// Why the handler is asked to stop; `None` while it is not.
    #[must_use]
    pub fn cancel_cause(&self) -> Option<CancelCause> {
        self.inner.running.cause()
    }

    /// The token that is cancelled when the handler is asked to stop.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.inner.running.token().clone()
    }
}
