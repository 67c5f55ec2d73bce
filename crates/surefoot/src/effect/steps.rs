//! The steps of an effect, decided the same for a handler of the engine and for a pull worker: what to do about it, and what
//! news of it comes to. Nothing is written, sent or waited for here; whoever takes a step writes it down before the next.

use surefoot_core::effect::{
    Answer, Begin, Declared, Effect, EffectState, Verdict, VerifyPlan, Witness, Witnessed,
    answered, asked, begin, witnessed,
};
use surefoot_core::id::{EffectName, Epoch};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::text::ErrorText;
use surefoot_core::time::{Roll, Timestamp};

use super::pace::{Refusal, refusal_to_send};

/// How often somebody else may write first before a step is given up.
pub(crate) const ROUNDS_MAX: usize = 8;

/// Why a step was given up after [`ROUNDS_MAX`].
pub(crate) const CROWDED: &str = "others kept writing about this effect";

/// What to do about an effect that a holder came to.
pub(crate) enum Todo {
    /// It happened: this is its result.
    Return(Payload),
    /// The job was begun by other code, which had this effect at the place.
    Changed(EffectName),
    /// Ask the provider, not before this time.
    AskAt(Timestamp, ErrorText),
    /// A person decides.
    Person(ErrorText),
    /// Ask the provider what became of it.
    Ask(Box<Effect>),
    /// Nothing is in doubt, and it must not be sent any more.
    Refuse(Refusal),
    /// Write this down, then send.
    Send(Box<Effect>),
}

/// Decides what to do about an effect whose record is `known`, with a call that may leave until `leaves_by`.
pub(crate) fn todo(
    known: Option<&Effect>,
    declared: &Declared,
    (job, policy): (&LeasedJob, &JobPolicy),
    cancel_requested: bool,
    leaves_by: Timestamp,
    now: Timestamp,
) -> Todo {
    match begin(known, declared, job, leaves_by, now) {
        Begin::Return(result) => Todo::Return(result),
        Begin::Changed(name) => Todo::Changed(name),
        Begin::AskAt(at, error) => Todo::AskAt(at, error),
        Begin::Person(error) => Todo::Person(error),
        Begin::Ask(effect) => Todo::Ask(effect),
        Begin::Send(effect) => match refusal_to_send(known, job, policy, cancel_requested, now) {
            Some(refusal) => Todo::Refuse(refusal),
            None => Todo::Send(effect),
        },
    }
}

/// The effect in a person's hands, so that this holds whatever its holder reports; `None` where it is there already.
pub(crate) fn to_person(
    effect: &Effect,
    error: &ErrorText,
    now: Timestamp,
    roll: Roll,
) -> Option<Effect> {
    match effect.state {
        EffectState::NeedsHuman { .. } => None,
        EffectState::Intended { .. }
        | EffectState::Confirmed { .. }
        | EffectState::Rejected { .. }
        | EffectState::Unknown { .. }
        | EffectState::Absent { .. } => {
            let verdict = Verdict::NeedsHuman(error.clone());
            let (next, _) = asked(effect, verdict, &VerifyPlan::default(), now, now, roll);
            Some(next)
        }
    }
}

/// Whether a call was begun under this lease and is not answered yet.
pub(crate) fn is_under_way(effect: &Effect, epoch: Epoch) -> bool {
    matches!(&effect.state, EffectState::Intended { epoch: sent_under, .. } if *sent_under == epoch)
}

/// What is to be written.
pub(crate) enum After {
    /// Nothing: what is on record stands.
    Stands,
    /// This.
    Write(Box<Effect>),
    /// This, and somebody is alerted.
    Dispute(Box<Effect>),
}

/// What follows from the answer to a call that was begun under `epoch`. Where a witness was faster its word stands, and
/// another answer is a dispute.
pub(crate) fn on_answer(
    on_record: &Effect,
    epoch: Epoch,
    answer: &Answer,
    now: Timestamp,
) -> After {
    if is_under_way(on_record, epoch) {
        let next = answered(on_record, answer.clone(), left_at(answer, now), now);
        return After::Write(Box::new(next));
    }
    let verdict = match (answer, &on_record.state) {
        (Answer::Applied { result, cost }, _) => Verdict::Happened {
            result: result.clone(),
            cost: *cost,
        },
        // That a second call was refused says nothing against the first.
        (Answer::Rejected(_), EffectState::Confirmed { .. }) if on_record.sends <= 1 => {
            Verdict::DidNotHappen
        }
        (Answer::Rejected(_) | Answer::NotSent(_) | Answer::MaybeApplied(_), _) => {
            return After::Stands;
        }
    };
    match witnessed(on_record, &verdict, Witness::Answer, now) {
        Witnessed::Settled(effect) => After::Write(effect),
        Witnessed::Disputed(effect) => After::Dispute(effect),
        Witnessed::Same | Witnessed::TooEarly(_) | Witnessed::NoVerdict => After::Stands,
    }
}

/// Nothing leaves after the call ended; of a call that did not leave nothing is known that was not known before.
fn left_at(answer: &Answer, ended_at: Timestamp) -> Option<Timestamp> {
    match answer {
        Answer::Applied { .. } | Answer::Rejected(_) | Answer::MaybeApplied(_) => Some(ended_at),
        Answer::NotSent(_) => None,
    }
}
