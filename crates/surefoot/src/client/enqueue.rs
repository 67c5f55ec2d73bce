//! Handing in. An id is made once for each intent and kept over every repetition, so an enqueue whose answer was lost
//! is never a second job. What was answered is durable.

use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Queue};
use surefoot_core::port::{BATCH_MAX, Enqueued, NewJob};
use surefoot_core::time::Timestamp;

use super::Client;
use crate::error::Error;
use crate::intent::{Intent, never_runs};
use crate::job::{Job, JobRef};
use crate::observe::Event;

/// How often an enqueue is tried while the store is unavailable.
const TRIES_MAX: u32 = 3;
/// The longest pause before it is tried again.
const PAUSE_MAX: Duration = Duration::from_millis(200);

impl Client {
    /// Hands in an intent. While the store is unavailable it is tried up to three times under the same id.
    ///
    /// # Errors
    /// [`Error::Priority`]; [`Error::DueTooLate`] and [`Error::DeadlinePassed`], unless the key is held already;
    /// [`Error::Store`] when the store stayed unavailable or refused. After an unavailable store nobody knows whether the
    /// job was written: hand it in again under a key.
    pub async fn enqueue(&self, intent: Intent) -> Result<Enqueued, Error> {
        let answers = self.enqueue_many(vec![intent]).await?;
        answers
            .first()
            .copied()
            .ok_or_else(|| miscounted(1, 0).into())
    }

    /// Hands in a typed job.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue), a payload or name that does not fit, and [`Error::Conflict`] when its key belongs
    /// to a job with another payload.
    pub async fn enqueue_job<J: Job>(&self, job: &J) -> Result<JobRef<J>, Error> {
        match self.enqueue(Intent::of(job)?).await? {
            Enqueued::Created(id) => Ok(JobRef::new(id, true)),
            Enqueued::Existing(id) => Ok(JobRef::new(id, false)),
            Enqueued::Conflict(id) => Err(Error::Conflict(id)),
        }
    }

    /// Hands in many intents in one transaction, at most [`BATCH_MAX`]; the answers stand in their order. One that
    /// conflicts does not keep the others from being written.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue), and [`Error::TooMany`]; then nothing was written.
    pub async fn enqueue_many(&self, intents: Vec<Intent>) -> Result<Vec<Enqueued>, Error> {
        if intents.len() > BATCH_MAX {
            return Err(Error::TooMany {
                items: intents.len(),
                max: BATCH_MAX,
            });
        }
        if intents.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.now();
        let mut jobs = Vec::with_capacity(intents.len());
        for intent in intents {
            jobs.push(self.new_job(intent, now).await?);
        }
        let answers = self.write(&jobs, now).await?;
        if answers.len() != jobs.len() {
            return Err(miscounted(jobs.len(), answers.len()).into());
        }
        self.tell(&jobs, &answers);
        Ok(answers)
    }

    /// The job of an intent, to be written in the caller's own transaction by a store's `enqueue_in`. Nothing is written here.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub async fn draft(&self, intent: Intent) -> Result<NewJob, Error> {
        self.new_job(intent, self.now()).await
    }

    /// Tells the nodes that a queue has work that somebody's own transaction committed; without it they find it by polling.
    pub fn has_work(&self, queue: &Queue) {
        self.local.work.notify_one();
        self.announce(queue);
    }

    /// Waits until other nodes were told of all that was handed in here; a short-lived process calls it before it
    /// ends. Without it they find the work by polling.
    pub async fn flush(&self) {
        self.announcer.flush().await;
    }

    async fn new_job(&self, intent: Intent, now: Timestamp) -> Result<NewJob, Error> {
        let from_policy = || {
            self.policies
                .policy(&intent.kind)
                .deadline
                .map(|limit| now.after(limit))
        };
        let deadline_at = intent.deadline_at.or_else(from_policy);
        let job = intent.into_new_job(JobId::new(now, self.dice.bytes()), deadline_at)?;
        match never_runs(&job, now) {
            Some(why) if !self.is_held(&job).await? => Err(why),
            Some(_) | None => Ok(job),
        }
    }

    /// Whether a job has its key already. Then it is a request that is sent again, maybe after its deadline, and its
    /// answer is that job.
    async fn is_held(&self, job: &NewJob) -> Result<bool, StoreError> {
        match &job.key {
            Some(key) => Ok(self.find(&job.tenant, &job.kind, key).await?.is_some()),
            None => Ok(false),
        }
    }

    async fn write(&self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>, StoreError> {
        let mut tries = 1;
        loop {
            match self.store.enqueue(jobs, now).await {
                Err(error) if error.is_transient() && tries < TRIES_MAX => {
                    tries += 1;
                    tokio::time::sleep(self.dice.up_to(PAUSE_MAX)).await;
                }
                answer => return answer,
            }
        }
    }

    fn tell(&self, jobs: &[NewJob], answers: &[Enqueued]) {
        let pairs = || jobs.iter().zip(answers);
        for (job, answer) in pairs() {
            self.observer.on(&Event::Enqueued {
                kind: &job.kind,
                queue: &job.queue,
                answer: *answer,
            });
        }
        let created = || pairs().filter(|(_, answer)| matches!(answer, Enqueued::Created(_)));
        if created().next().is_some() {
            self.local.work.notify_one();
        }
        self.announcer
            .announce(&self.store, created().map(|(job, _)| &job.queue));
    }
}

fn miscounted(asked: usize, answered: usize) -> StoreError {
    StoreError::Broken(format!(
        "{asked} jobs were enqueued and {answered} answers came back"
    ))
}
