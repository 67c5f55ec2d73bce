//! What a handler knows of the attempt it runs, and how it carries out its effects. But for those it changes nothing in the
//! store.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use surefoot_core::failure::Failure;
use surefoot_core::id::{EffectName, Epoch, JobId, Key, Kind, ProviderKey, Tenant};
use surefoot_core::job::{LeasedJob, TraceContext};
use surefoot_core::payload::Payload;
use surefoot_core::settle::{Next, Report, Settlement, settle};
use surefoot_core::time::Timestamp;
use surefoot_core::timeouts::TimeoutKind;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::effect::{self, Book, EffectDraft};
use crate::job::Outcome;
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
    provider_key: ProviderKey,
    ends_at: Instant,
    book: Book,
}

impl Cx {
    pub(crate) fn of(book: Book, ends_at: Instant) -> Self {
        Self {
            inner: Arc::new(Inner {
                provider_key: book.job().provider_key(),
                ends_at,
                book,
            }),
        }
    }

    /// A context outside the engine, to call a handler by hand: its time runs from now, nobody cancels it, and what it
    /// does is written nowhere: its effects are remembered by this context alone.
    #[must_use]
    pub fn standalone(job: &LeasedJob, time_left: Duration) -> Self {
        let ends_at = Instant::now() + time_left;
        let running = Arc::new(Running::new(job, time_left, ends_at));
        Self::of(Book::alone(Arc::new(job.clone()), running), ends_at)
    }

    /// Begins to declare one external side effect. Effects and steps have places, in the order in which the handler comes
    /// to them; it must be the same order in every run of a job, up to the first thing that is in doubt. The name is what it
    /// is called on record, such as `psp.refund`: 1 to 128 bytes of letters, digits and `_ . : / -`.
    pub fn effect(&self, name: &str) -> EffectDraft<'_> {
        EffectDraft::new(self, name)
    }

    /// Carries out a local computation that must not be repeated, or returns its kept result. It has a place among the
    /// effects. When the process dies before the result is kept, it is computed again.
    ///
    /// # Errors
    /// What the computation answered; a transient failure when its result could not be kept, a permanent one when it has
    /// no JSON form or the kept one is of another type.
    pub fn step<T, F, Fut>(&self, name: &str, compute: F) -> impl Future<Output = Outcome<T>>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Outcome<T>>,
    {
        let place = self.inner.book.next_place();
        effect::step(self, place, EffectName::new(name), compute)
    }

    /// The end of this job as a success, for the handler's own transaction: hand it to the store's `settle_in` beside the
    /// business rows and commit, then return the same output. Either all of it is there afterwards or nothing.
    ///
    /// After it was called the handler is not told that its lease is lost: the commit finds out.
    ///
    /// # Errors
    /// The output has no JSON form or is too large; nobody knows the outcome of an effect of this job, so it cannot
    /// succeed yet.
    pub fn settlement<T: Serialize>(&self, output: &T) -> Outcome<Settlement> {
        let result = Payload::from_serialize(output)
            .map_err(|error| Failure::permanent(error.to_string()))?;
        let book = &self.inner.book;
        let settlement = settle(
            book.job(),
            &book.effects(),
            Report::Succeeded(result),
            book.policy(),
            book.now(),
            book.roll(),
        );
        match &settlement.next {
            Next::Succeeded { .. } => {
                book.running().settles();
                book.hand(settlement.clone());
                Ok(settlement)
            }
            Next::Pending { .. }
            | Next::Retrying { .. }
            | Next::Verifying { .. }
            | Next::Dead(_)
            | Next::Cancelled { .. } => Err(Failure::unknown(
                "nobody knows the outcome of an effect of this job, so it cannot succeed yet",
            )),
        }
    }

    pub(crate) fn book(&self) -> &Book {
        &self.inner.book
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.inner.book.job().id
    }

    /// Whose job it is.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.inner.book.job().tenant
    }

    /// The job's kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.inner.book.job().kind
    }

    /// The key that the caller gave the job.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        self.inner.book.job().key.as_ref()
    }

    /// The attempt's number, 1 for the first start of the job.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.inner.book.job().counts.starts
    }

    /// The epoch of the lease.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.inner.book.job().state.epoch
    }

    /// The key to give to the provider of the job's first effect: the same on every attempt. An effect's own call is given
    /// its key.
    #[must_use]
    pub fn provider_key(&self) -> &ProviderKey {
        &self.inner.provider_key
    }

    /// The trace context of whoever enqueued the job.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceContext> {
        self.inner.book.job().trace.as_ref()
    }

    /// The job's total deadline over all attempts.
    #[must_use]
    pub fn deadline_at(&self) -> Option<Timestamp> {
        self.inner.book.job().deadline_at
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
        self.inner.book.running().token().cancelled().await;
        self.cancel_cause().unwrap_or(CancelCause::Requested)
    }

    /// Why the handler is asked to stop; `None` while it is not.
    #[must_use]
    pub fn cancel_cause(&self) -> Option<CancelCause> {
        self.inner.book.running().cause()
    }

    /// The token that is cancelled when the handler is asked to stop.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.inner.book.running().token().clone()
    }
}
