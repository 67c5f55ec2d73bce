//! What a pull worker is to do about an effect that it came to. Nothing may leave before its row is durable.

use std::time::Duration;

use surefoot_core::effect::{Declared, EFFECTS_MAX, Effect, EffectTerms};
use surefoot_core::error::StoreError;
use surefoot_core::id::{EffectName, Epoch, JobId, ProviderKey};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::port::EffectWritten;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::held::Holder;
use crate::checklist::as_answered;
use crate::client::Client;
use crate::effect::{
    CROWDED, LEAVE_WITHIN, ROUNDS_MAX, Todo, checked, is_under_way, lease_until, tell_changed,
    to_person, todo,
};

/// The shortest time in which a worker can hear the answer and send.
const LEAVE_WITHIN_MIN: Duration = Duration::from_millis(100);
const NO_ROOM: &str = "the call does not fit into what is left of the attempt; report it as failed, and where that is \
                       so from the start raise the kind's timeout or lease";

/// What a pull worker is to do about an effect that it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectBegun {
    /// It is on record: send it with this key, and tell what was answered by [`Client::answer_effect`].
    Send {
        /// For the provider.
        key: ProviderKey,
        /// Counted from before the request that this is the answer to: a call that did not leave by then must not leave.
        leave_within: Duration,
    },
    /// It happened: this is its result.
    Return(Payload),
    /// Ask the provider what became of it, and tell by [`Client::verdict_on_effect`]; then begin it again.
    Ask {
        /// For the provider.
        key: ProviderKey,
    },
    /// It was begun under this lease already, and its answer is missing: tell it, or that it was not sent, by
    /// [`Client::answer_effect`]; then begin it again.
    UnderWay,
    /// It is too early to ask: report the attempt as still unknown.
    AskLater {
        /// When to ask at the earliest.
        at: Timestamp,
        /// Why nobody knows.
        error: ErrorText,
    },
    /// A person decides: report the attempt as still unknown.
    Person(ErrorText),
    /// It did not happen, and it must not be sent any more, or it contradicts itself: report the attempt as failed.
    Refused(ErrorText),
    /// The job was begun by other code, which had this effect at that place. Report the attempt as failed for good.
    Changed(EffectName),
    /// The job does not run under this epoch any more, or the attempt's time is over. Nothing was written.
    Stale,
    /// There is no such job.
    NotFound,
    /// A node of the engine runs it.
    HeldByNode,
}

impl Client {
    /// Says what a pull worker is to do about an effect that it came to, and writes it down where that is to send it. The
    /// lease is extended so that the whole time-out has room in it.
    ///
    /// # Errors
    /// What the store answered. After an unavailable store nothing may be sent; the call may be repeated, and answers
    /// [`EffectBegun::UnderWay`] where the first one was written.
    pub async fn begin_effect(
        &self,
        job: JobId,
        epoch: Epoch,
        declared: Declared,
    ) -> Result<EffectBegun, StoreError> {
        let _telling = self.local.tells(job).await;
        let job = match self.held(job, epoch).await? {
            Holder::Worker(job) => job,
            Holder::Other => return Ok(EffectBegun::Stale),
            Holder::NoJob => return Ok(EffectBegun::NotFound),
            Holder::Node => return Ok(EffectBegun::HeldByNode),
        };
        if let Err(fault) = self.sound(&job, &declared) {
            return Ok(EffectBegun::Refused(fault.into()));
        }
        let policy = self.policies.policy(&job.kind);
        let mut known = self.effect(job.id, declared.place).await?;
        if known
            .as_ref()
            .is_some_and(|effect| is_under_way(effect, epoch))
        {
            return Ok(EffectBegun::UnderWay);
        }
        for _ in 0..ROUNDS_MAX {
            let now = self.now();
            let leave_within = self.leave_within(&job, declared.terms.timeout, now);
            let leaves_by = now.after(leave_within);
            let cancelled = job.state.cancel_requested;
            let holder = (&*job, policy);
            let effect = match todo(known.as_ref(), &declared, holder, cancelled, leaves_by, now) {
                Todo::Return(result) => return Ok(EffectBegun::Return(result)),
                Todo::Ask(effect) => return Ok(EffectBegun::Ask { key: effect.key() }),
                Todo::AskAt(at, error) => return Ok(EffectBegun::AskLater { at, error }),
                Todo::Person(error) => return self.handed_over(&job, known, error).await,
                Todo::Changed(name) => return Ok(EffectBegun::Changed(name)),
                Todo::Refuse(refusal) => return Ok(EffectBegun::Refused(refusal.text())),
                Todo::Send(effect) => *effect,
            };
            if self.last_hold(&job) <= now {
                return Ok(EffectBegun::Stale);
            }
            if leave_within < LEAVE_WITHIN_MIN {
                return Ok(EffectBegun::Refused(NO_ROOM.into()));
            }
            let holds_until = lease_until(leaves_by, declared.terms.timeout);
            match self.write_held(&job, &effect, Some(holds_until)).await? {
                EffectWritten::Applied | EffectWritten::Already => {
                    return Ok(EffectBegun::Send {
                        key: effect.key(),
                        leave_within,
                    });
                }
                EffectWritten::Stale => return Ok(EffectBegun::Stale),
                EffectWritten::NotFound => return Ok(EffectBegun::NotFound),
                EffectWritten::Changed(on_record) => known = on_record.map(|effect| *effect),
            }
        }
        Ok(EffectBegun::Refused(CROWDED.into()))
    }

    /// Whether an effect can be begun at all, whatever is on record of it.
    fn sound(&self, job: &LeasedJob, declared: &Declared) -> Result<(), String> {
        if declared.place >= EFFECTS_MAX {
            return Err(format!(
                "place {} is over the limit; a job has at most {EFFECTS_MAX} effects, counted from 0",
                declared.place
            ));
        }
        if let Some(effects) = self.policies.effects(&job.kind) {
            as_answered(effects, &declared.name, declared.terms.recovery)?;
        }
        checked(declared.terms, None, self.policies.policy(&job.kind).lease)
    }

    /// How long a call of this length may still wait before it leaves, so that it ends within what the attempt may take.
    fn leave_within(&self, job: &LeasedJob, timeout: Duration, now: Timestamp) -> Duration {
        let left = self.last_hold(job).since(now);
        left.saturating_sub(timeout)
            .saturating_sub(EffectTerms::MARGIN)
            .min(LEAVE_WITHIN)
    }

    /// Writes down that a person decides, so that it holds whatever the worker reports.
    async fn handed_over(
        &self,
        job: &LeasedJob,
        known: Option<Effect>,
        error: ErrorText,
    ) -> Result<EffectBegun, StoreError> {
        if let Some(effect) = known
            && let Some(next) = to_person(&effect, &error, self.now(), self.dice.roll())
        {
            // Where somebody else wrote first, the next attempt goes by that.
            self.write_held(job, &next, None).await?;
            tell_changed(self, &job.kind, Some(&effect), &next);
        }
        Ok(EffectBegun::Person(error))
    }
}
