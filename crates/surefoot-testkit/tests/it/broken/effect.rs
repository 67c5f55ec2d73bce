//! What is broken about effects and about the jobs that are verifying because of them.

use surefoot_core::effect::{Effect, EffectState};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::{DeadReason, JobState, LeasedJob, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    By, Cancelled, Depth, EffectWrite, EffectWritten, ExpiredJob, Extension, JobFilter, JobRecord,
    Store,
};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::{Break, Broken};

impl Broken {
    pub(super) async fn spoilt_write(
        &self,
        writes: &[EffectWrite],
        now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError> {
        let mut answers = Vec::new();
        for write in writes {
            let refused = answers
                .iter()
                .any(|answer| !matches!(answer, EffectWritten::Applied | EffectWritten::Already));
            answers.push(if refused && self.how == Break::RefusedWriteSpoils {
                EffectWritten::Stale
            } else {
                self.spoilt_write_of_one(write, now).await?
            });
        }
        Ok(answers)
    }

    async fn spoilt_write_of_one(
        &self,
        given: &EffectWrite,
        now: Timestamp,
    ) -> Result<EffectWritten, StoreError> {
        let job = given.effect.job;
        let mut write = given.clone();
        let state = self.inner.job(job).await?.map(|record| record.job.state);
        let present = match &state {
            Some(JobState::Running(run)) => Some(run.epoch),
            _ => None,
        };
        match self.how {
            Break::WriteWithoutEpoch if write.fence.is_some() => write.fence = present,
            Break::WitnessNeedsLease if write.fence.is_none() && present.is_none() => {
                return Ok(EffectWritten::Stale);
            }
            Break::WriteExtendsNothing => write.lease_until = None,
            _ => {}
        }
        let answer = self.one(&write, now).await?;
        match (self.how, &answer) {
            (Break::WriteWithoutVersion, EffectWritten::Changed(known)) => {
                let version = known.as_ref().map_or(1, |known| known.version + 1);
                write.effect.version = version;
                self.one(&write, now).await
            }
            (Break::RepeatedWriteIsChanged, EffectWritten::Already) => {
                Ok(EffectWritten::Changed(Some(Box::new(write.effect))))
            }
            (Break::RefusedWriteExtends, EffectWritten::Stale | EffectWritten::Changed(_)) => {
                if let (Some(epoch), Some(until)) = (present, write.lease_until) {
                    let extension = Extension { job, epoch, until };
                    self.inner.extend(&[extension], now).await?;
                }
                Ok(answer)
            }
            _ => Ok(answer),
        }
    }

    async fn one(&self, write: &EffectWrite, now: Timestamp) -> Result<EffectWritten, StoreError> {
        let answers = self.inner.write_effects(std::slice::from_ref(write), now);
        Ok(answers.await?.remove(0))
    }

    pub(super) async fn spoilt_effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
        let mut effects = self.inner.effects(jobs).await?;
        if self.how == Break::EffectsByPlace {
            effects.sort_by_key(|effect| effect.place);
        }
        for effect in &mut effects {
            if self.how == Break::NoDisputes {
                effect.disputes.clear();
            }
            if let (Break::ResultTrimmed, EffectState::Confirmed { result, .. }) =
                (self.how, &mut effect.state)
            {
                *result = Payload::from_store(result.as_str().trim().to_owned());
            }
        }
        Ok(effects)
    }

    pub(super) async fn spoilt_hasten(
        &self,
        job: JobId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let state = self.inner.job(job).await?.map(|record| record.job.state);
        match (self.how, state) {
            (Break::HastenRetrying, Some(JobState::Retrying { .. }))
            | (Break::HastenPutsOff, Some(JobState::Verifying { .. })) => {
                self.shown().due.insert(job, now);
            }
            _ => {}
        }
        self.inner.hasten(job, now).await
    }

    pub(super) async fn spoilt_cancel(
        &self,
        job: JobId,
        by: &By,
        now: Timestamp,
    ) -> Result<Cancelled, StoreError> {
        let state = self.inner.job(job).await?.map(|record| record.job.state);
        if let (Break::CancelForgets, Some(JobState::Verifying { .. })) = (self.how, state) {
            return Ok(Cancelled::Requested);
        }
        self.inner.cancel(job, by, now).await
    }

    pub(super) fn spoil_claimed(&self, leased: &mut Vec<LeasedJob>, now: Timestamp) {
        if self.how == Break::NoClaimAfterDeadline {
            leased.retain(|job| job.deadline_at.is_none_or(|deadline| deadline > now));
        }
        for job in leased.iter_mut() {
            if self.how == Break::ClaimTellsNothing {
                job.state.cancel_requested = false;
            }
        }
    }

    pub(super) async fn spoilt_expire(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<ExpiredJob>, StoreError> {
        let mut expired = self.inner.expire(now, limit).await?;
        if self.how == Break::ExpireVerifying {
            let filter = JobFilter {
                state: Some(StateName::Verifying),
                ..JobFilter::default()
            };
            let verifying = self.inner.jobs(&filter, None, limit).await?;
            let over = verifying
                .iter()
                .filter(|job| job.deadline_at.is_some_and(|deadline| deadline <= now));
            expired.extend(over.map(|job| ExpiredJob {
                job: job.id,
                kind: job.kind.clone(),
                reason: DeadReason::Deadline,
            }));
        }
        if self.how == Break::ExpireSaysDeadline {
            for job in &mut expired {
                job.reason = DeadReason::Deadline;
            }
        }
        Ok(expired)
    }

    pub(super) async fn spoilt_depth(&self, now: Timestamp) -> Result<Depth, StoreError> {
        let mut depth = self.inner.depth(now).await?;
        if self.how == Break::DepthWithoutVerifying {
            let verifying = StateName::Verifying;
            depth.counts.retain(|line| line.state != verifying);
        }
        Ok(depth)
    }

    pub(super) async fn spoilt_late(
        &self,
        job: JobId,
        epoch: Epoch,
        said: &ErrorText,
    ) -> Result<bool, StoreError> {
        let kept = self.inner.late(job, epoch, said).await?;
        let attempts = self.inner.job(job).await?.map(|record| record.attempts);
        let any = attempts
            .unwrap_or_default()
            .iter()
            .any(|attempt| attempt.epoch == epoch);
        if (self.how == Break::LastWordStays && kept)
            || (self.how == Break::LateOfAnyOutcome && any)
        {
            self.shown().words.insert((job, epoch.0), said.clone());
            return Ok(true);
        }
        Ok(kept)
    }

    pub(super) async fn keep_deadline(&self, job: JobId) -> Result<(), StoreError> {
        let deadline = self
            .inner
            .job(job)
            .await?
            .map(|record| record.job.deadline_at);
        if let (Break::ReplayKeepsDeadline, Some(Some(deadline))) = (self.how, deadline) {
            self.shown().deadlines.insert(job, deadline);
        }
        Ok(())
    }

    pub(super) async fn spoilt_job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        let record = self.inner.job(job).await?;
        Ok(record.map(|record| self.shown().over(record)))
    }
}
