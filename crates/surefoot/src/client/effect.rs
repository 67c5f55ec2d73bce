//! Effects from outside: what pull workers do about theirs, in the same order and by the same decisions as a handler of
//! the engine, and looking at them.

use std::time::Duration;
use surefoot_core::effect::{
    Answer, Begin, Declared, EFFECTS_MAX, Effect, EffectState, EffectTerms, Verdict, VerifyPlan,
    answered, asked, begin,
};
use surefoot_core::error::StoreError;
use surefoot_core::id::{EffectName, Epoch, JobId, ProviderKey};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::port::{EffectWrite, EffectWritten};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::Client;
use crate::effect::{
    After, LEAVE_WITHIN, checked, outrun, refusal_to_send, tell_changed, tell_disputed,
    tell_verified,
};
use crate::holder;

/// How often somebody else may write first before a call of the client is given up.
pub(super) const ROUNDS_MAX: usize = 8;

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

/// Who holds a job.
enum Holder {
    /// This pull worker.
    Worker(Box<LeasedJob>),
    /// A node of the engine.
    Node,
    /// Somebody under another epoch, or nobody.
    Other,
    /// There is no such job.
    NoJob,
}

impl Client {
    /// The effects of a job by place, confirmed or not.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn effects(&self, job: JobId) -> Result<Vec<Effect>, StoreError> {
        self.store.effects(&[job]).await
    }

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
        let policy = self.policies.policy(&job.kind);
        if declared.place >= EFFECTS_MAX {
            let text = format!(
                "place {} is over the limit; a job has at most {EFFECTS_MAX} effects, counted from 0",
                declared.place
            );
            return Ok(EffectBegun::Refused(text.into()));
        }
        if let Err(faults) = checked(declared.terms, None, policy.lease) {
            return Ok(EffectBegun::Refused(faults.into()));
        }
        let mut known = self.effect(job.id, declared.place).await?;
        if known
            .as_ref()
            .is_some_and(|effect| under_way(effect, epoch))
        {
            return Ok(EffectBegun::UnderWay);
        }
        for _ in 0..ROUNDS_MAX {
            let now = self.now();
            let leave_within = self.leave_within(&job, declared.terms.timeout, now);
            let leaves_by = now.after(leave_within);
            let effect = match begin(known.as_ref(), &declared, &job, leaves_by, now) {
                Begin::Return(result) => return Ok(EffectBegun::Return(result)),
                Begin::Ask(effect) => return Ok(EffectBegun::Ask { key: effect.key() }),
                Begin::AskAt(at, error) => return Ok(EffectBegun::AskLater { at, error }),
                Begin::Person(error) => return self.handed_over(&job, known, error).await,
                Begin::Changed(name) => return Ok(EffectBegun::Changed(name)),
                Begin::Send(effect) => *effect,
            };
            let cancelled = job.state.cancel_requested;
            if let Some(why) = refusal_to_send(known.as_ref(), &job, policy, cancelled, now) {
                return Ok(EffectBegun::Refused(why.text()));
            }
            let lease_until = leaves_by
                .after(declared.terms.timeout)
                .after(EffectTerms::MARGIN);
            if self.last_hold(&job) <= now {
                return Ok(EffectBegun::Stale);
            }
            if leave_within < LEAVE_WITHIN_MIN {
                return Ok(EffectBegun::Refused(NO_ROOM.into()));
            }
            match self.write_held(&job, &effect, Some(lease_until)).await? {
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

    /// How long a call of this length may still wait before it leaves, so that it ends within what the attempt may take.
    fn leave_within(&self, job: &LeasedJob, timeout: Duration, now: Timestamp) -> Duration {
        let left = self.last_hold(job).since(now);
        left.saturating_sub(timeout)
            .saturating_sub(EffectTerms::MARGIN)
            .min(LEAVE_WITHIN)
    }

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
            if under_way(known, epoch) {
                return After::Write(Box::new(answered(known, answer.clone(), Some(now), now)));
            }
            outrun(known, &answer, now)
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

    /// Writes down that a person decides, so that it holds whatever the worker reports.
    async fn handed_over(
        &self,
        job: &LeasedJob,
        known: Option<Effect>,
        error: ErrorText,
    ) -> Result<EffectBegun, StoreError> {
        if let Some(effect) = known {
            let verdict = Verdict::NeedsHuman(error.clone());
            let plan = VerifyPlan::default();
            let (now, roll) = (self.now(), self.dice.roll());
            let (next, _) = asked(&effect, verdict, &plan, now, now, roll);
            if effect.state.as_str() != next.state.as_str() {
                // Where somebody else wrote first, the next attempt goes by that.
                self.write_held(job, &next, None).await?;
                tell_changed(self, &job.kind, Some(&effect), &next);
            }
        }
        Ok(EffectBegun::Person(error))
    }

    pub(super) async fn effect(
        &self,
        job: JobId,
        place: u32,
    ) -> Result<Option<Effect>, StoreError> {
        let effects = self.store.effects(&[job]).await?;
        Ok(effects.into_iter().find(|effect| effect.place == place))
    }

    async fn write_held(
        &self,
        job: &LeasedJob,
        effect: &Effect,
        lease_until: Option<Timestamp>,
    ) -> Result<EffectWritten, StoreError> {
        let write = EffectWrite {
            effect: effect.clone(),
            fence: Some(job.state.epoch),
            lease_until,
        };
        self.write_one(write).await
    }

    pub(super) async fn write_one(&self, write: EffectWrite) -> Result<EffectWritten, StoreError> {
        let mut answers = self.store.write_effects(&[write], self.now()).await?;
        answers
            .pop()
            .ok_or_else(|| StoreError::Broken("a write of an effect had no answer".to_owned()))
    }

    async fn held(&self, job: JobId, epoch: Epoch) -> Result<Holder, StoreError> {
        Ok(match self.leased(job, epoch).await? {
            None => Holder::NoJob,
            Some(Err(_)) => Holder::Other,
            Some(Ok(leased)) if holder::is_node(&leased.state.worker) => Holder::Node,
            Some(Ok(leased)) => Holder::Worker(Box::new(leased)),
        })
    }
}

/// Whether a call was begun under this lease and not answered yet.
fn under_way(effect: &Effect, epoch: Epoch) -> bool {
    matches!(&effect.state, EffectState::Intended { epoch: sent_under, .. } if *sent_under == epoch)
}

/// The shortest time in which a worker can hear the answer and send.
const LEAVE_WITHIN_MIN: Duration = Duration::from_millis(100);
const NO_ROOM: &str = "the call does not fit into what is left of the attempt; report it as failed, and where that is \
                       so from the start raise the kind's timeout or lease";

pub(super) const CROWDED: &str = "others kept writing about this effect";
