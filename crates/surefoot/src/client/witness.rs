//! The word of somebody who was not asked: a webhook, another program, a person. It needs no lease. The first witness
//! settles an effect, and the job goes on by what it said; a later, different one is a dispute.

use surefoot_core::effect::{Effect, Verdict, Witness, Witnessed, permitted, witnessed};
use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, ProviderKey};
use surefoot_core::job::{Job, JobState};
use surefoot_core::port::{By, EffectWrite, EffectWritten, Replay, ReplayEffect};
use surefoot_core::time::Timestamp;

use super::Client;
use crate::effect::{CROWDED, ROUNDS_MAX, tell_changed, tell_disputed};

/// What became of the word of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// It settled the effect, and its job goes on by it.
    Settled {
        /// Which job.
        job: JobId,
        /// The effect as it is on record.
        effect: Box<Effect>,
    },
    /// The same was known before.
    Same {
        /// Which job.
        job: JobId,
    },
    /// Something else was known before: it is on record, and somebody is alerted.
    Disputed {
        /// Which job.
        job: JobId,
    },
    /// A call may still be on its way, or still take effect: say it again after this time.
    TooEarly {
        /// After this.
        until: Timestamp,
    },
    /// A witness says what happened; this verdict says nothing.
    NoVerdict,
    /// No effect is on record under this key: it is none of ours, it was not begun, or a person replaced it by a new one.
    NotFound,
}

impl Client {
    /// Takes in what somebody says became of the effect under a provider key.
    ///
    /// # Errors
    /// What the store answered; the same call may be repeated.
    pub async fn resolve(
        &self,
        provider_key: &str,
        verdict: Verdict,
        witness: Witness,
    ) -> Result<Resolved, StoreError> {
        let Some((job, generation, place)) = ProviderKey::parse(provider_key) else {
            return Ok(Resolved::NotFound);
        };
        let Some(record) = self.store.job(job).await? else {
            return Ok(Resolved::NotFound);
        };
        let kind = &record.job.kind;
        let mut known = self.effect(job, place).await?;
        for _ in 0..ROUNDS_MAX {
            let Some(effect) = known.filter(|effect| effect.generation == generation) else {
                return Ok(Resolved::NotFound);
            };
            let (next, settles) = match witnessed(&effect, &verdict, witness.clone(), self.now()) {
                Witnessed::NoVerdict => return Ok(Resolved::NoVerdict),
                Witnessed::TooEarly(until) => return Ok(Resolved::TooEarly { until }),
                // The one who said it before may have been cut off before the job was told.
                Witnessed::Same => {
                    self.go_on(job, &witness).await?;
                    return Ok(Resolved::Same { job });
                }
                Witnessed::Settled(next) => (next, true),
                Witnessed::Disputed(next) => (next, false),
            };
            match self.write_unfenced(&next).await? {
                EffectWritten::Applied | EffectWritten::Already if settles => {
                    self.go_on(job, &witness).await?;
                    return Ok(Resolved::Settled { job, effect: next });
                }
                EffectWritten::Applied | EffectWritten::Already => {
                    tell_disputed(self, kind, &next);
                    tell_changed(self, kind, Some(&effect), &next);
                    self.local.changed(job);
                    return Ok(Resolved::Disputed { job });
                }
                EffectWritten::Stale | EffectWritten::NotFound => return Ok(Resolved::NotFound),
                EffectWritten::Changed(on_record) => known = on_record.map(|effect| *effect),
            }
        }
        Err(StoreError::Unavailable(CROWDED.into()))
    }

    /// Lets a job go on that waited for this news.
    async fn go_on(&self, job: JobId, witness: &Witness) -> Result<(), StoreError> {
        if !self.store.hasten(job, self.now()).await? {
            self.revive(job, witness).await?;
        }
        self.local.changed(job);
        self.local.work.notify_one();
        Ok(())
    }

    /// Replays a dead letter that waited for somebody who knows.
    async fn revive(&self, job: JobId, witness: &Witness) -> Result<(), StoreError> {
        let Some(record) = self.store.job(job).await? else {
            return Ok(());
        };
        let waits = matches!(
            &record.job.state,
            JobState::Dead(death) if death.reason.needs_effect_choice()
        );
        if let (true, Some(by)) = (waits, by(witness)) {
            let replay = Replay {
                effect: Some(ReplayEffect::Same),
                by,
            };
            self.store.replay(job, &replay, self.now()).await?;
            self.announce(&record.job.queue);
        }
        Ok(())
    }

    /// Lets what waits for a person go on as the same effect, because one ordered it. `effects` is what was read of a dead
    /// letter; what somebody else changed since then is left to them.
    pub(super) async fn permit(
        &self,
        job: &Job,
        effects: Vec<Effect>,
        by: &By,
    ) -> Result<(), StoreError> {
        for effect in effects {
            let Some(next) = permitted(&effect, by.clone(), self.now()) else {
                continue;
            };
            match self.write_unfenced(&next).await? {
                EffectWritten::Applied | EffectWritten::Already => {
                    tracing::info!(
                        job = %job.id, kind = %job.kind, effect = %effect.name, by = %by.actor,
                        "an effect goes on as the same one"
                    );
                }
                EffectWritten::Changed(_) | EffectWritten::Stale | EffectWritten::NotFound => {}
            }
        }
        Ok(())
    }

    async fn write_unfenced(&self, effect: &Effect) -> Result<EffectWritten, StoreError> {
        self.write_one(EffectWrite {
            effect: effect.clone(),
            fence: None,
            lease_until: None,
        })
        .await
    }
}

/// In whose name a dead letter goes on.
fn by(witness: &Witness) -> Option<By> {
    match witness {
        Witness::Caller(actor) => Some(By {
            actor: actor.clone(),
            reason: "a witness said what became of its effect".into(),
        }),
        Witness::Person(by) => Some(by.clone()),
        // What the engine itself found out while the job ran.
        Witness::Answer | Witness::Query => None,
    }
}
