//! A job on the wire. A field that does not apply to the job's state is `null`, never absent.

use serde::Serialize;
use surefoot_core::effect::Effect;
use surefoot_core::id::{Epoch, Key};
use surefoot_core::job::{Death, Job, JobState, Run};
use surefoot_core::port::JobRecord;
use surefoot_core::time::Timestamp;
use utoipa::ToSchema;

use super::effect::EffectRecord;
use super::json::RawJson;
use super::record::{ActionRecord, AttemptRecord, RevisionRecord, revisions};
use super::time::WireTime;
use super::word::{ReasonWord, RecoveryWord, StateWord};
use crate::language::Language;
use crate::standing::may_have_happened;
use crate::status_text::{StatusFacts, status_text};

/// For whom and when a job is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The reader's language.
    pub(crate) language: Language,
    /// The time at which it is read.
    pub(crate) now: Timestamp,
}

/// A job, as a page of jobs shows it: all but its payload, its result and its records.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobSummary {
    /// Its id, a UUID version 7: ids of later jobs sort later.
    #[schema(format = "uuid")]
    id: String,
    /// Whose it is.
    tenant: String,
    /// What it does.
    kind: String,
    /// What makes it one intent.
    #[schema(required)]
    key: Option<String>,
    /// Where it waits.
    queue: String,
    /// Its state.
    state: StateWord,
    /// What the state means, in a sentence for people, by Accept-Language in English or Vietnamese.
    status_text: String,
    /// The earliest time it runs, while it waits.
    #[schema(required)]
    due_at: Option<WireTime>,
    /// When it was acknowledged to its caller.
    enqueued_at: WireTime,
    /// After this no attempt starts.
    #[schema(required)]
    deadline_at: Option<WireTime>,
    /// When it was settled: succeeded, dead, cancelled or ignored.
    #[schema(required)]
    ended_at: Option<WireTime>,
    /// A higher number runs earlier.
    #[schema(minimum = -100, maximum = 100)]
    priority: i16,
    /// Jobs of one order key run one at a time, first in first out.
    #[schema(required)]
    order_key: Option<String>,
    /// Jobs of one kind and concurrency key share a limit.
    #[schema(required)]
    concurrency_key: Option<String>,
    /// The key that the provider sees, the same on every attempt.
    provider_key: String,
    /// The caller's trace context.
    #[schema(required)]
    traceparent: Option<String>,
    /// How often what happened.
    counts: CountsRecord,
    /// What the last attempt said, while the job is retrying or dead.
    #[schema(required)]
    error: Option<String>,
    /// Why it was cancelled or ignored.
    #[schema(required)]
    reason: Option<String>,
    /// Somebody asked to cancel it while it runs.
    cancel_requested: bool,
    /// Who runs it.
    #[schema(required)]
    lease: Option<LeaseRecord>,
    /// Why it will not run again by itself.
    #[schema(required)]
    dead: Option<DeadRecord>,
}

/// A job with all that is on record about it.
#[derive(Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobDocument {
    #[serde(flatten)]
    summary: JobSummary,
    /// What the handler is given, byte for byte as it came or as it was last edited.
    payload: RawJson,
    /// How often the payload was edited.
    revision: u32,
    /// What the handler returned, once it succeeded.
    #[schema(required, value_type = serde_json::Value)]
    result: Option<RawJson>,
    /// Its attempts by number, the running one included; the latest 1000.
    attempts: Vec<AttemptRecord>,
    /// The external side effects that its handler came to, and its steps, by place.
    effects: Vec<EffectRecord>,
    /// Its earlier payloads, oldest first: the first one and the latest 19.
    revisions: Vec<RevisionRecord>,
    /// What people did to it, oldest first; the latest 1000.
    actions: Vec<ActionRecord>,
}

/// How often what happened to a job since it was enqueued or replayed; `starts` counts on over replays.
#[derive(Serialize, ToSchema)]
#[schema(as = Counts)]
struct CountsRecord {
    /// Claims, each of which has an attempt record.
    starts: u32,
    /// Attempts that used up one of the kind's `attempts_max`: those that failed and those of unknown outcome, a
    /// time-out among them.
    failed: u32,
    /// Attempts whose holder was lost; they use up `crashes_max`.
    crashed: u32,
    /// Attempts given back unused, or turned away by a service that names a time to come back; they use up nothing.
    deferred: u32,
    /// What may have happened, where a second time would matter: effects of which nobody knows, and for a job without
    /// any its attempts of unknown outcome. While there is one, the job never ends as a failure.
    unknown: u32,
}

/// The right to run a job for a while, as others see it.
#[derive(Serialize, ToSchema)]
#[schema(as = LeaseHolder)]
struct LeaseRecord {
    /// Who runs it.
    worker: String,
    /// Fences every write of the attempt.
    epoch: i64,
    /// When it was claimed.
    started_at: WireTime,
    /// When the lease ends unless it is extended.
    lease_until: WireTime,
    /// What an unknown outcome allows.
    #[schema(required)]
    recovery: Option<RecoveryWord>,
}

/// Why a job will not run again by itself.
#[derive(Serialize, ToSchema)]
#[schema(as = Dead)]
struct DeadRecord {
    /// Why.
    reason: ReasonWord,
    /// What the last attempt said.
    error: String,
    /// The same for the same kind of fault: 16 hex digits.
    fingerprint: String,
    /// When it died.
    at: WireTime,
    /// Whether a replay must say if it is the same effect.
    needs_effect_choice: bool,
}

impl JobDocument {
    /// The whole job.
    pub(crate) fn new(record: &JobRecord, effects: &[Effect], view: View) -> Self {
        Self {
            summary: JobSummary::new(&record.job, may_have_happened(record, effects), view),
            payload: RawJson(record.job.payload.clone()),
            revision: record.job.revision,
            result: match &record.job.state {
                JobState::Succeeded { result, .. } => Some(RawJson(result.clone())),
                JobState::Pending { .. }
                | JobState::Running(_)
                | JobState::Retrying { .. }
                | JobState::Verifying { .. }
                | JobState::Dead(_)
                | JobState::Cancelled { .. }
                | JobState::Ignored { .. } => None,
            },
            attempts: record.attempts.iter().map(AttemptRecord::from).collect(),
            effects: effects.iter().map(EffectRecord::from).collect(),
            revisions: revisions(&record.revisions),
            actions: record.actions.iter().map(ActionRecord::from).collect(),
        }
    }
}

impl JobSummary {
    /// The job as a page shows it.
    pub(crate) fn new(job: &Job, may_have_happened: bool, view: View) -> Self {
        let facts = StatusFacts {
            state: &job.state,
            starts: job.counts.starts,
            may_have_happened,
            now: view.now,
        };
        let parts = StateParts::of(&job.state);
        Self {
            id: job.id.to_string(),
            tenant: job.tenant.to_string(),
            kind: job.kind.to_string(),
            key: job.key.as_ref().map(Key::to_string),
            queue: job.queue.to_string(),
            state: StateWord(job.state.name()),
            status_text: status_text(facts, view.language),
            due_at: parts.due_at.map(WireTime),
            enqueued_at: job.enqueued_at.into(),
            deadline_at: job.deadline_at.map(WireTime),
            ended_at: parts.ended_at.map(WireTime),
            priority: job.priority,
            order_key: job.order_key.as_ref().map(ToString::to_string),
            concurrency_key: job.concurrency_key.as_ref().map(ToString::to_string),
            provider_key: job.provider_key().to_string(),
            traceparent: job.trace.as_ref().map(|trace| trace.as_str().to_owned()),
            counts: CountsRecord {
                starts: job.counts.starts,
                failed: job.counts.failed,
                crashed: job.counts.crashed,
                deferred: job.counts.deferred,
                unknown: job.counts.unknown,
            },
            error: parts.error,
            reason: parts.reason,
            cancel_requested: parts.run.is_some_and(|run| run.cancel_requested),
            lease: parts.run.map(LeaseRecord::from),
            dead: parts.death.map(DeadRecord::from),
        }
    }
}

/// What a state has to show.
#[derive(Default)]
struct StateParts<'a> {
    due_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    error: Option<String>,
    reason: Option<String>,
    run: Option<&'a Run>,
    death: Option<&'a Death>,
}

impl<'a> StateParts<'a> {
    fn of(state: &'a JobState) -> Self {
        let none = Self::default();
        match state {
            JobState::Pending { due_at } => Self {
                due_at: Some(*due_at),
                ..none
            },
            JobState::Running(run) => Self {
                run: Some(run),
                ..none
            },
            JobState::Retrying { due_at, error } | JobState::Verifying { due_at, error } => Self {
                due_at: Some(*due_at),
                error: Some(error.to_string()),
                ..none
            },
            JobState::Succeeded { at, .. } => Self {
                ended_at: Some(*at),
                ..none
            },
            JobState::Dead(death) => Self {
                ended_at: Some(death.at),
                error: Some(death.error.to_string()),
                death: Some(death),
                ..none
            },
            JobState::Cancelled { at, reason } | JobState::Ignored { at, reason } => Self {
                ended_at: Some(*at),
                reason: Some(reason.to_string()),
                ..none
            },
        }
    }
}

impl From<&Run> for LeaseRecord {
    fn from(run: &Run) -> Self {
        let Epoch(epoch) = run.epoch;
        Self {
            worker: run.worker.to_string(),
            epoch,
            started_at: run.started_at.into(),
            lease_until: run.lease_until.into(),
            recovery: run.recovery.map(RecoveryWord),
        }
    }
}

impl From<&Death> for DeadRecord {
    fn from(death: &Death) -> Self {
        Self {
            reason: ReasonWord(death.reason),
            error: death.error.to_string(),
            fingerprint: death.fingerprint.to_string(),
            at: death.at.into(),
            needs_effect_choice: death.reason.needs_effect_choice(),
        }
    }
}
