//! What is on record about a job: attempts, earlier payloads, what people did.

use serde::Serialize;
use surefoot_core::id::Epoch;
use surefoot_core::job::Attempt;
use surefoot_core::port::{Action, Revision};
use utoipa::ToSchema;

use super::json::RawJson;
use super::time::WireTime;
use super::word::{OutcomeWord, VerbWord};

/// The most revisions that one answer holds: the first one and the latest others. Each may be as large as a payload.
const REVISIONS_MAX: usize = 20;

/// One run of a job. Without an outcome it runs at present.
#[derive(Serialize, ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct AttemptRecord {
    /// 1 for the first claim of the job, one more for each.
    #[schema(minimum = 1)]
    number: u32,
    /// The epoch of its lease.
    epoch: i64,
    /// Who ran it.
    worker: String,
    /// When it was claimed.
    started_at: WireTime,
    /// When it ended, or was found lost.
    #[schema(required)]
    ended_at: Option<WireTime>,
    /// How it ended.
    #[schema(required)]
    outcome: Option<OutcomeWord>,
    /// What it said.
    #[schema(required)]
    error: Option<String>,
    /// What its holder said after the lease was lost. It changed nothing.
    #[schema(required)]
    late: Option<String>,
}

impl From<&Attempt> for AttemptRecord {
    fn from(attempt: &Attempt) -> Self {
        let Epoch(epoch) = attempt.epoch;
        Self {
            number: attempt.number,
            epoch,
            worker: attempt.worker.to_string(),
            started_at: attempt.started_at.into(),
            ended_at: attempt.ended_at.map(WireTime),
            outcome: attempt.outcome.map(OutcomeWord),
            error: attempt.error.as_ref().map(ToString::to_string),
            late: attempt.late.as_ref().map(ToString::to_string),
        }
    }
}

/// A payload that was replaced.
#[derive(Serialize, ToSchema)]
#[schema(as = Revision)]
pub(crate) struct RevisionRecord {
    /// 0 for the payload as first enqueued.
    number: u32,
    /// The payload before the edit.
    payload: RawJson,
    /// When it was replaced.
    replaced_at: WireTime,
    /// Who replaced it.
    actor: String,
    /// Why.
    reason: String,
}

impl From<&Revision> for RevisionRecord {
    fn from(revision: &Revision) -> Self {
        Self {
            number: revision.number,
            payload: RawJson(revision.payload.clone()),
            replaced_at: revision.replaced_at.into(),
            actor: revision.by.actor.to_string(),
            reason: revision.by.reason.to_string(),
        }
    }
}

/// The first revision and the latest others, at most [`REVISIONS_MAX`].
pub(crate) fn revisions(all: &[Revision]) -> Vec<RevisionRecord> {
    let latest_from = all.len().saturating_sub(REVISIONS_MAX - 1).max(1);
    let first = all.iter().take(1);
    first
        .chain(all.iter().skip(latest_from))
        .map(RevisionRecord::from)
        .collect()
}

/// Something that a person did to a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Action)]
pub(crate) struct ActionRecord {
    /// What.
    verb: VerbWord,
    /// When.
    at: WireTime,
    /// Who.
    actor: String,
    /// Why.
    reason: String,
}

impl From<&Action> for ActionRecord {
    fn from(action: &Action) -> Self {
        Self {
            verb: VerbWord(action.verb),
            at: action.at.into(),
            actor: action.by.actor.to_string(),
            reason: action.by.reason.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use surefoot_core::id::Actor;
    use surefoot_core::payload::Payload;
    use surefoot_core::port::By;
    use surefoot_core::text::ErrorText;
    use surefoot_core::time::Timestamp;

    use super::*;

    #[test]
    fn the_first_revision_and_the_latest_are_shown() {
        let by = By {
            actor: Actor::new("a").unwrap(),
            reason: ErrorText::from("r"),
        };
        let revision = |number| Revision {
            number,
            payload: Payload::null(),
            replaced_at: Timestamp::MIN,
            by: by.clone(),
        };
        for (count, expected) in [
            (0, vec![]),
            (1, vec![0]),
            (2, vec![0, 1]),
            (20, (0..20).collect()),
            (21, std::iter::once(0).chain(2..21).collect()),
            (50, std::iter::once(0).chain(31..50).collect()),
        ] {
            let all: Vec<Revision> = (0..count).map(revision).collect();
            let shown: Vec<u32> = revisions(&all)
                .iter()
                .map(|revision| revision.number)
                .collect();
            assert_eq!(shown, expected, "{count}");
        }
    }
}
