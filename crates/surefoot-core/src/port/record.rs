//! What is on record about one job.

use super::By;
use crate::job::{Attempt, Job};
use crate::payload::Payload;
use crate::time::Timestamp;

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
    pub const ALL: [Self; 5] = [
        Self::Cancel,
        Self::Replay,
        Self::ReplayNew,
        Self::Ignore,
        Self::Edit,
    ];

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
