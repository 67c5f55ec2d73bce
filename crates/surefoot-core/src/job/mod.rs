//! A job and its states. A state carries its data; what is not in the state cannot be asked for.

mod attempt;
mod state;
mod trace;

pub use attempt::*;
pub use state::*;
pub use trace::*;

use crate::id::{ConcurrencyKey, JobId, Key, Kind, OrderKey, ProviderKey, Queue, Tenant};
use crate::payload::Payload;
use crate::time::Timestamp;

/// The priority of a job that names none.
pub const PRIORITY_STANDARD: i16 = 0;
/// The lowest and the highest priority; a higher number runs earlier.
pub const PRIORITY_RANGE: std::ops::RangeInclusive<i16> = -100..=100;

/// An intent that runs in the background. `S` is what is known of its state: [`JobState`] in general, [`Run`]
/// for a job that is known to be running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<S = JobState> {
    /// Its id.
    pub id: JobId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What it does.
    pub kind: Kind,
    /// What makes it one intent; `None` when the caller gave no key.
    pub key: Option<Key>,
    /// Where it waits.
    pub queue: Queue,
    /// A higher number runs earlier, in [`PRIORITY_RANGE`].
    pub priority: i16,
    /// Jobs of one order key run one at a time, first in first out, within the tenant.
    pub order_key: Option<OrderKey>,
    /// Jobs of one kind and concurrency key share a limit.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// What the handler is given, byte for byte as it came or as it was last edited.
    pub payload: Payload,
    /// How often the payload was edited.
    pub revision: u32,
    /// Which effect this is: 1 at first, one more with each replay as a new effect.
    pub generation: u32,
    /// The caller's trace context, kept for the attempts.
    pub trace: Option<TraceContext>,
    /// When it was acknowledged to its caller.
    pub enqueued_at: Timestamp,
    /// After this no attempt starts and a running one is cancelled.
    pub deadline_at: Option<Timestamp>,
    /// How often what happened.
    pub counts: Counts,
    /// Its state.
    pub state: S,
}

/// A job that is running, as the holder of its lease knows it.
pub type LeasedJob = Job<Run>;

impl<S> Job<S> {
    /// The key that the provider sees, the same for every attempt.
    #[must_use]
    pub fn provider_key(&self) -> ProviderKey {
        ProviderKey::of(self.id, self.generation)
    }

    /// The same job with what `change` makes of its state.
    pub fn map_state<T>(self, change: impl FnOnce(S) -> T) -> Job<T> {
        Job {
            id: self.id,
            tenant: self.tenant,
            kind: self.kind,
            key: self.key,
            queue: self.queue,
            priority: self.priority,
            order_key: self.order_key,
            concurrency_key: self.concurrency_key,
            payload: self.payload,
            revision: self.revision,
            generation: self.generation,
            trace: self.trace,
            enqueued_at: self.enqueued_at,
            deadline_at: self.deadline_at,
            counts: self.counts,
            state: change(self.state),
        }
    }
}

impl Job<JobState> {
    /// The job as a running one, or the job as it was when it does not run.
    ///
    /// # Errors
    /// The job itself when its state is another one.
    pub fn into_leased(self) -> Result<LeasedJob, Box<Self>> {
        match self.state.clone() {
            JobState::Running(run) => Ok(self.map_state(|_| run)),
            JobState::Pending { .. }
            | JobState::Retrying { .. }
            | JobState::Verifying { .. }
            | JobState::Succeeded { .. }
            | JobState::Dead(_)
            | JobState::Cancelled { .. }
            | JobState::Ignored { .. } => Err(Box::new(self)),
        }
    }
}

/// How often what happened to a job since it was enqueued or replayed; `starts` counts on over replays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Claims, each of which has an attempt record with this number.
    pub starts: u32,
    /// Attempts that failed: they use up `attempts_max`.
    pub failed: u32,
    /// Attempts whose holder was lost: they use up `crashes_max`.
    pub crashed: u32,
    /// Attempts given back unused: a drain, a closed gate. They use up nothing.
    pub deferred: u32,
    /// What may have happened, where a second time would matter: effects on record of which nobody knows, and for a job
    /// that has none its attempts of unknown outcome. While there is one, the job never ends as a failure:
    /// [`DeadReason::OutcomeUnknown`].
    pub unknown: u32,
}
