//! What a pull worker says of an effect that it began: the provider's answer to the call, or to a question. Where a witness
//! came first, its word stands.

use surefoot_core::effect::{Answer, Effect, EffectState, Verdict, VerifyPlan, asked};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::LeasedJob;
use surefoot_core::port::EffectWritten;

use super::held::Holder;
use crate::client::Client;
use crate::effect::{
    After, CROWDED, ROUNDS_MAX, on_answer, tell_changed, tell_disputed, tell_verified,
};

/// What became of what a pull worker told of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectTold {
    /// This is on record.
    OnRecord(Box<Effect>),
    /// The effect was not begun, or is not in question any more.
    NotBegun,
    /// The job does not run under this epoch any more. Nothing was written.
    Stale,
    /// There is no such job.
    NotFound,
    /// A node of the engine runs it.
    HeldByNode,
}

impl Client {
    /// Keeps what a provider answered to a pull worker's call. Where a witness came first, its word stands.
    ///
    /// # Errors
    /// What the store answered; the same call may be repeated.
    pub async fn answer_effect(
        &self,
        job: JobId,
        epoch: Epoch,
        place: u32,
        answer: Answer,
    ) -> Result<EffectTold, StoreError> {
        let now = self.now();
        self.told(job, epoch, place, |known, _| {
            on_answer(known, epoch, &answer, now)
        })
        .await
    }

    /// Keeps what a provider said when a pull worker asked it what became of an effect. What follows stands in the answer:
    /// confirmed, absent (begin it again), unknown until it may be asked again, or in need of a person. Of a question that was
    /// asked too early only "it happened" counts.
    ///
    /// # Errors
    /// What the store answered; the same call may be repeated.
    pub async fn verdict_on_effect(
        &self,
        job: JobId,
        epoch: Epoch,
        place: u32,
        verdict: Verdict,
        plan: &VerifyPlan,
    ) -> Result<EffectTold, StoreError> {
        let (now, roll) = (self.now(), self.dice.roll());
        self.told(job, epoch, place, |known, job| match known.state {
            EffectState::Intended { .. } | EffectState::Unknown { .. } => {
                if known.ask_from() > now && !matches!(verdict, Verdict::Happened { .. }) {
                    return After::Stands;
                }
                tell_verified(self, &job.kind, known, &verdict);
                // The worker asked at some time of this attempt; nobody knows when.
                let asked_at = job.state.started_at;
                let (next, _) = asked(known, verdict.clone(), plan, asked_at, now, roll);
                After::Write(Box::new(next))
            }
            EffectState::Confirmed { .. }
            | EffectState::Rejected { .. }
            | EffectState::Absent { .. }
            | EffectState::NeedsHuman { .. } => After::Stands,
        })
        .await
    }

    /// Writes what `decide` makes of the effect on record; where it makes nothing of it, it stays as it is.
    async fn told(
        &self,
        job: JobId,
        epoch: Epoch,
        place: u32,
        decide: impl Fn(&Effect, &LeasedJob) -> After,
    ) -> Result<EffectTold, StoreError> {
        let _telling = self.local.tells(job).await;
        let job = match self.held(job, epoch).await? {
            Holder::Worker(job) => job,
            Holder::Other => return Ok(EffectTold::Stale),
            Holder::NoJob => return Ok(EffectTold::NotFound),
            Holder::Node => return Ok(EffectTold::HeldByNode),
        };
        let mut known = self.effect(job.id, place).await?;
        for _ in 0..ROUNDS_MAX {
            let Some(effect) = known else {
                return Ok(EffectTold::NotBegun);
            };
            let (next, disputed) = match decide(&effect, &job) {
                After::Stands => return Ok(EffectTold::OnRecord(Box::new(effect))),
                After::Write(next) => (*next, false),
                After::Dispute(next) => (*next, true),
            };
            match self.write_held(&job, &next, None).await? {
                EffectWritten::Applied | EffectWritten::Already => {
                    tell_changed(self, &job.kind, Some(&effect), &next);
                    if disputed {
                        tell_disputed(self, &job.kind, &next);
                    }
                    return Ok(EffectTold::OnRecord(Box::new(next)));
                }
                EffectWritten::Stale => return Ok(EffectTold::Stale),
                EffectWritten::NotFound => return Ok(EffectTold::NotFound),
                EffectWritten::Changed(on_record) => known = on_record.map(|effect| *effect),
            }
        }
        Err(StoreError::Unavailable(CROWDED.into()))
    }
}
