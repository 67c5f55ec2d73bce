//! One typed stream of everything that happens, for metrics, traces and logs. The engine counts nothing itself and
//! knows no metrics library.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::effect::{Effect, Verdict};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Kind, Queue};
use surefoot_core::job::{AttemptOutcome, DeadReason, LeasedJob, StateName};
use surefoot_core::port;

/// Something that happened. It borrows what it tells of, so that telling it costs nothing.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An intent was handed in.
    Enqueued {
        /// Its kind.
        kind: &'a Kind,
        /// Its queue.
        queue: &'a Queue,
        /// Created, existing or conflict.
        answer: port::Enqueued,
    },
    /// A job was claimed, by the engine or for a pull worker.
    Claimed {
        /// The job.
        job: &'a LeasedJob,
        /// From enqueue to claim, the time until `run_at` included; `None` for any attempt but the first.
        wait: Option<Duration>,
    },
    /// An attempt ended and its settlement was applied.
    AttemptEnded {
        /// The job as it ran.
        job: &'a LeasedJob,
        /// How the attempt ended.
        outcome: AttemptOutcome,
        /// The state the job went to.
        next: StateName,
        /// From claim to end.
        took: Duration,
    },
    /// A job became a dead letter.
    DeadLetter {
        /// Which job.
        job: JobId,
        /// Its kind.
        kind: &'a Kind,
        /// Why.
        reason: DeadReason,
    },
    /// A handler of this node runs under a lease that is not its own any more; its token was cancelled.
    LeaseLost {
        /// Which job.
        job: JobId,
        /// Its kind.
        kind: &'a Kind,
        /// The epoch that was lost.
        epoch: Epoch,
    },
    /// A settlement under a lease that is not held any more was refused.
    StaleWrite {
        /// Which job.
        job: JobId,
        /// The epoch that was refused.
        epoch: Epoch,
    },
    /// A handler did not end long after its time-out: its lease is not extended any more.
    Abandoned {
        /// Which job.
        job: JobId,
        /// Its kind.
        kind: &'a Kind,
        /// Its epoch.
        epoch: Epoch,
    },
    /// A settlement that the store could not write was given up: the attempt will be found lost.
    SettlementDropped {
        /// Which job.
        job: JobId,
        /// Its epoch.
        epoch: Epoch,
    },
    /// A provider was asked what became of an effect.
    EffectVerified {
        /// The job's kind.
        kind: &'a Kind,
        /// The effect before the question.
        effect: &'a Effect,
        /// What was answered; a question that failed counts as still unknown.
        verdict: &'a Verdict,
    },
    /// Two witnesses say different things about an effect: alert somebody.
    EffectDisputed {
        /// The job's kind.
        kind: &'a Kind,
        /// The effect with its disputes.
        effect: &'a Effect,
    },
    /// An effect may have happened and no question is left to ask: a person decides.
    EffectNeedsHuman {
        /// The job's kind.
        kind: &'a Kind,
        /// The effect.
        effect: &'a Effect,
    },
    /// A verb of the store failed.
    StoreError {
        /// Which verb.
        verb: &'static str,
        /// How.
        error: &'a StoreError,
    },
}

impl<'a> Event<'a> {
    pub(crate) fn claimed(job: &'a LeasedJob) -> Self {
        let first = job.counts.starts == 1;
        Self::Claimed {
            job,
            wait: first.then(|| job.state.started_at.since(job.enqueued_at)),
        }
    }
}

/// Sees everything that happens. It is called on the engine's own tasks: it must not block. Its panics
/// are caught and logged.
pub trait Observer: Send + Sync + 'static {
    /// Takes note of something that happened.
    fn on(&self, event: &Event<'_>) {
        let _ = event;
    }

    /// The span that an attempt runs in.
    fn attempt_span(&self, job: &LeasedJob) -> tracing::Span {
        tracing::info_span!(
            "job.attempt",
            job = %job.id,
            attempt = job.counts.starts,
            epoch = job.state.epoch.0,
            kind = %job.kind,
            worker = %job.state.worker,
        )
    }
}

/// An observer whose panics end with it: a fault in somebody's metrics must not stop the engine.
pub(crate) struct Guarded(pub(crate) Arc<dyn Observer>);

impl Observer for Guarded {
    fn on(&self, event: &Event<'_>) {
        if catch_unwind(AssertUnwindSafe(|| self.0.on(event))).is_err() {
            tracing::error!(?event, "the observer panicked");
        }
    }

    fn attempt_span(&self, job: &LeasedJob) -> tracing::Span {
        catch_unwind(AssertUnwindSafe(|| self.0.attempt_span(job))).unwrap_or_else(|_| {
            tracing::error!(job = %job.id, "the observer panicked");
            tracing::Span::none()
        })
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
