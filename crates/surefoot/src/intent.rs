//! What a caller hands in. Names are checked types already; what is left to check is checked before anything is
//! written.

use surefoot_core::id::{ConcurrencyKey, JobId, Key, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::{PRIORITY_RANGE, PRIORITY_STANDARD, TraceContext};
use surefoot_core::payload::Payload;
use surefoot_core::port::NewJob;
use surefoot_core::time::Timestamp;

use crate::error::Error;
use crate::job::Job;

/// What a caller wants to happen once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Whose it is. Default: the single tenant.
    pub tenant: Tenant,
    /// What it does.
    pub kind: Kind,
    /// What makes it one intent; without a key nothing is deduplicated.
    pub key: Option<Key>,
    /// Where it waits. Default: the standard queue.
    pub queue: Queue,
    /// A higher number runs earlier, -100 to 100. Default 0.
    pub priority: i16,
    /// Jobs of one order key run one at a time, first in first out.
    pub order_key: Option<OrderKey>,
    /// Jobs of one kind and concurrency key share the kind's limit per key.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// What the handler is given.
    pub payload: Payload,
    /// The caller's trace context.
    pub trace: Option<TraceContext>,
    /// The earliest time it runs; `None` is at once.
    pub run_at: Option<Timestamp>,
    /// After this no attempt starts; `None` leaves it to the kind's policy.
    pub deadline_at: Option<Timestamp>,
}

impl Intent {
    /// An intent of the single tenant, for the standard queue, to run at once, without a key.
    #[must_use]
    pub fn new(kind: Kind, payload: Payload) -> Self {
        Self {
            tenant: Tenant::single(),
            kind,
            key: None,
            queue: Queue::standard(),
            priority: PRIORITY_STANDARD,
            order_key: None,
            concurrency_key: None,
            payload,
            trace: None,
            run_at: None,
            deadline_at: None,
        }
    }

    /// The intent of a typed job.
    ///
    /// # Errors
    /// A name or key that does not fit its bounds, or a payload that does not serialize or is too large.
    pub fn of<J: Job>(job: &J) -> Result<Self, Error> {
        let named = |text: Option<String>| text.map(Key::new).transpose();
        Ok(Self {
            key: named(job.key())?,
            queue: Queue::new(job.queue())?,
            priority: job.priority(),
            order_key: job.order_key().map(OrderKey::new).transpose()?,
            concurrency_key: job.concurrency_key().map(ConcurrencyKey::new).transpose()?,
            ..Self::new(Kind::new(J::KIND)?, Payload::from_serialize(job)?)
        })
    }

    /// The row to write, or why the intent is refused.
    pub(crate) fn into_new_job(
        self,
        id: JobId,
        deadline_at: Option<Timestamp>,
    ) -> Result<NewJob, Error> {
        if !PRIORITY_RANGE.contains(&self.priority) {
            return Err(Error::Priority(self.priority));
        }
        Ok(NewJob {
            id,
            tenant: self.tenant,
            kind: self.kind,
            key: self.key,
            queue: self.queue,
            priority: self.priority,
            order_key: self.order_key,
            concurrency_key: self.concurrency_key,
            payload: self.payload,
            trace: self.trace,
            run_at: self.run_at,
            deadline_at,
        })
    }
}

/// Why a job that is written at `now` could never run: its deadline ends before it may start.
pub(crate) fn never_runs(job: &NewJob, now: Timestamp) -> Option<Error> {
    let deadline_at = job.deadline_at?;
    if job.run_at.is_some_and(|run_at| deadline_at <= run_at) {
        return Some(Error::DueTooLate);
    }
    (deadline_at <= now).then_some(Error::DeadlinePassed)
}
