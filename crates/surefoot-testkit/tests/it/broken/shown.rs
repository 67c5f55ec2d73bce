//! What a broken store shows of a job where its memory holds something else.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use surefoot_core::id::JobId;
use surefoot_core::job::JobState;
use surefoot_core::port::JobRecord;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::Broken;

#[derive(Default)]
pub(super) struct Shown {
    /// When a job is due, by job.
    pub(super) due: BTreeMap<JobId, Timestamp>,
    /// The late word of an attempt, by job and epoch.
    pub(super) words: BTreeMap<(JobId, i64), ErrorText>,
    /// The deadline, by job.
    pub(super) deadlines: BTreeMap<JobId, Timestamp>,
}

impl Shown {
    pub(super) fn over(&self, mut record: JobRecord) -> JobRecord {
        let id = record.job.id;
        if let (Some(due), JobState::Retrying { due_at, .. } | JobState::Verifying { due_at, .. }) =
            (self.due.get(&id), &mut record.job.state)
        {
            *due_at = *due;
        }
        for attempt in &mut record.attempts {
            if let Some(word) = self.words.get(&(id, attempt.epoch.0)) {
                attempt.late = Some(word.clone());
            }
        }
        if let Some(deadline) = self.deadlines.get(&id) {
            record.job.deadline_at = Some(*deadline);
        }
        record
    }
}

impl Broken {
    pub(super) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
