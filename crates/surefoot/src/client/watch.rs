//! Waiting for a job to change. Changes made in this process wake the waiter at once; those of other processes are
//! found by polling, whose pace slows down while nothing happens.

use std::time::Duration;

use serde::de::DeserializeOwned;
use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::job::{Counts, JobState, StateName};
use surefoot_core::port::JobRecord;
use tokio::time::Instant;

use super::Client;
use crate::error::{Error, Unfinished};
use crate::job::{Job, JobRef};

/// The first pause between two looks at a job.
const POLL_FIRST: Duration = Duration::from_millis(50);
/// The longest pause between two looks at a job.
const POLL_LONGEST: Duration = Duration::from_secs(2);
/// The longest wait for a change; a longer one is cut to it.
const WAIT_LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How long one wait of [`Client::result_of`] lasts.
const WAIT: Duration = Duration::from_secs(60);

/// What somebody has seen of a job; any of it differs when the job changed. An extended lease is no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    state: StateName,
    counts: Counts,
    revision: u32,
    generation: u32,
    actions: usize,
    cancel_requested: bool,
}

impl From<&JobRecord> for Seen {
    fn from(record: &JobRecord) -> Self {
        let job = &record.job;
        Self {
            state: job.state.name(),
            counts: job.counts,
            revision: job.revision,
            generation: job.generation,
            actions: record.actions.len(),
            cancel_requested: matches!(&job.state, JobState::Running(run) if run.cancel_requested),
        }
    }
}

/// What a wait for a change ended with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The job as it is.
    To(Box<JobRecord>),
    /// Nothing changed in that time.
    Same,
    /// There is no such job (any more).
    NotFound,
}

impl Client {
    /// Waits until a job is not as it was `seen`, at most `at_most` and a day. With `None` it answers at once.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn changed(
        &self,
        job: JobId,
        seen: Option<&Seen>,
        at_most: Duration,
    ) -> Result<Changed, StoreError> {
        let ends_at = Instant::now() + at_most.min(WAIT_LONGEST);
        let watching = self.local.watch(job);
        let mut pause = POLL_FIRST;
        loop {
            let woken = watching.notify.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let Some(record) = self.store.job(job).await? else {
                return Ok(Changed::NotFound);
            };
            if seen != Some(&Seen::from(&record)) {
                return Ok(Changed::To(Box::new(record)));
            }
            let left = ends_at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Changed::Same);
            }
            // A time-out here is the next look, not an error.
            let _ = tokio::time::timeout(self.dice.around(pause).min(left), woken).await;
            pause = (pause * 2).min(POLL_LONGEST);
        }
    }

    /// Waits for a job's result, for as long as the job takes: wrap it in a time-out where that matters.
    ///
    /// # Errors
    /// [`Error::Unfinished`] for a job that is dead, cancelled, ignored or not there; [`Error::Payload`] for a result
    /// of another type; [`Error::Store`] when the store failed in a way that does not pass. An unavailable store is
    /// waited for.
    pub async fn result_of<T: DeserializeOwned>(&self, job: JobId) -> Result<T, Error> {
        let unfinished = |why| Err(Error::Unfinished { job, why });
        let mut seen: Option<Seen> = None;
        loop {
            let record = match self.changed(job, seen.as_ref(), WAIT).await {
                Ok(Changed::To(record)) => record,
                Ok(Changed::Same) => continue,
                Ok(Changed::NotFound) => return unfinished(Unfinished::NotFound),
                Err(error) if error.is_transient() => {
                    tokio::time::sleep(self.dice.around(POLL_LONGEST)).await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            seen = Some(Seen::from(&*record));
            match record.job.state {
                JobState::Succeeded { result, .. } => return Ok(result.decode()?),
                JobState::Dead(death) => return unfinished(Unfinished::Dead(death)),
                JobState::Cancelled { reason, .. } => {
                    return unfinished(Unfinished::Cancelled(reason));
                }
                JobState::Ignored { reason, .. } => return unfinished(Unfinished::Ignored(reason)),
                JobState::Pending { .. }
                | JobState::Running(_)
                | JobState::Retrying { .. }
                | JobState::Verifying { .. } => {}
            }
        }
    }

    /// Waits for the output of a typed job, as [`result_of`](Self::result_of) does.
    ///
    /// # Errors
    /// As [`result_of`](Self::result_of).
    pub async fn result<J: Job>(&self, job: JobRef<J>) -> Result<J::Output, Error> {
        self.result_of(job.id).await
    }
}
