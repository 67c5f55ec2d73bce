//! A job and its states. A state carries its data; what is not in the state cannot be asked for.

use crate::id::{ConcurrencyKey, Epoch, JobId, Key, Kind, OrderKey, ProviderKey, Queue, Tenant, Worker};
use crate::payload::Payload;
use crate::policy::Recovery;
use crate::text::{ErrorFingerprint, ErrorText};
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
}

/// What a job may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Waits for its first attempt, or for its next one after it was given back or replayed.
    Pending {
        /// The earliest time it runs.
        due_at: Timestamp,
    },
    /// Somebody holds the lease.
    Running(Run),
    /// Waits after a failure, a lost lease or an unknown outcome that its recovery allows to send again.
    Retrying {
        /// The earliest time it runs.
        due_at: Timestamp,
        /// What the last attempt said.
        error: ErrorText,
    },
    /// Done.
    Succeeded {
        /// When.
        at: Timestamp,
        /// What the handler returned.
        result: Payload,
    },
    /// Will not run again by itself; waits for a person.
    Dead(Death),
    /// Withdrawn before it succeeded.
    Cancelled {
        /// When.
        at: Timestamp,
        /// Why.
        reason: ErrorText,
    },
    /// A dead letter that a person decided not to replay.
    Ignored {
        /// When.
        at: Timestamp,
        /// Why.
        reason: ErrorText,
    },
}

impl JobState {
    /// The state without its data.
    #[must_use]
    pub const fn name(&self) -> StateName {
        match self {
            Self::Pending { .. } => StateName::Pending,
            Self::Running(_) => StateName::Running,
            Self::Retrying { .. } => StateName::Retrying,
            Self::Succeeded { .. } => StateName::Succeeded,
            Self::Dead(_) => StateName::Dead,
            Self::Cancelled { .. } => StateName::Cancelled,
            Self::Ignored { .. } => StateName::Ignored,
        }
    }
}

/// A state's name, the same word in code, SQL, API and console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateName {
    /// `pending`
    Pending,
    /// `running`
    Running,
    /// `retrying`
    Retrying,
    /// `succeeded`
    Succeeded,
    /// `dead`
    Dead,
    /// `cancelled`
    Cancelled,
    /// `ignored`
    Ignored,
}

impl StateName {
    /// Every state, in the order of a job's life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::Retrying,
        Self::Succeeded,
        Self::Dead,
        Self::Cancelled,
        Self::Ignored,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
            Self::Ignored => "ignored",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }

    /// Whether nothing will change it any more. A dead letter is not final: a person may replay it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Cancelled | Self::Ignored)
    }

    /// Whether the engine is done with it: final, or waiting for a person.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        self.is_final() || matches!(self, Self::Dead)
    }
}

/// The right to run a job for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Fences every write of this attempt.
    pub epoch: Epoch,
    /// Who runs it.
    pub worker: Worker,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// When the lease ends unless it is extended.
    pub lease_until: Timestamp,
    /// What the claimer declared for the unknown case; the node that finds the lease lost goes by it.
    pub recovery: Option<Recovery>,
    /// Somebody asked to cancel the job.
    pub cancel_requested: bool,
}

/// Why a job will not run again by itself, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: DeadReason,
    /// What the last attempt said.
    pub error: ErrorText,
    /// The same for the same kind of fault.
    pub fingerprint: ErrorFingerprint,
}

/// Why a job became a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeadReason {
    /// A failure that trying again would not mend.
    Permanent,
    /// All attempts are used up.
    Exhausted,
    /// The total deadline passed.
    Deadline,
    /// Its holder was lost too often: it may be what kills the workers.
    CrashLoop,
    /// The effect may or may not have happened and the recovery allows no second call: a person decides.
    OutcomeUnknown,
}

impl DeadReason {
    /// Every reason.
    pub const ALL: [Self; 5] =
        [Self::Permanent, Self::Exhausted, Self::Deadline, Self::CrashLoop, Self::OutcomeUnknown];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::Exhausted => "exhausted",
            Self::Deadline => "deadline",
            Self::CrashLoop => "crash_loop",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// The reason with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

/// One run of a job, as it is kept for ever. An attempt without an outcome is the one that runs at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// 1 for the first claim of the job, one more for each.
    pub number: u32,
    /// The epoch of its lease.
    pub epoch: Epoch,
    /// Who ran it.
    pub worker: Worker,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// When it ended, or was found lost.
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<AttemptOutcome>,
    /// What it said.
    pub error: Option<ErrorText>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptOutcome {
    /// It returned a result.
    Succeeded,
    /// It failed in a way that may pass.
    Transient,
    /// It failed in a way that will not pass.
    Permanent,
    /// A time-out fired; the error says which.
    TimedOut,
    /// Nobody knows whether its effect happened.
    Unknown,
    /// It stopped because it was asked to.
    Cancelled,
    /// It was given back unused.
    Released,
    /// Its holder was lost: a crash, a stall or a cut connection.
    Lost,
}

impl AttemptOutcome {
    /// Every outcome.
    pub const ALL: [Self; 8] = [
        Self::Succeeded,
        Self::Transient,
        Self::Permanent,
        Self::TimedOut,
        Self::Unknown,
        Self::Cancelled,
        Self::Released,
        Self::Lost,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::TimedOut => "timed_out",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Released => "released",
            Self::Lost => "lost",
        }
    }

    /// The outcome with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// The caller's trace context in the W3C form, kept with the job so that its attempts link to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext(String);

impl TraceContext {
    /// A `traceparent` value of version 00: `00-<32 hex>-<16 hex>-<2 hex>`. Anything else is `None`: a broken
    /// header must not stop a job.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let parts: Vec<&str> = traceparent.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let hex = parts.iter().all(|part| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        let well_formed = lengths == [2, 32, 16, 2] && hex && parts[0] == "00";
        let zero = |part: &str| part.bytes().all(|b| b == b'0');
        (well_formed && !zero(parts[1]) && !zero(parts[2])).then(|| Self(traceparent.to_owned()))
    }

    /// The `traceparent` value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
