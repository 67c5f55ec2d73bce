//! What an answer means when a witness was faster: its word stands, and another answer is a dispute.

use surefoot_core::effect::{
    Answer, Effect, EffectState, Verdict, Witness, Witnessed, answered, witnessed,
};
use surefoot_core::time::Timestamp;

/// What is to be written.
pub(crate) enum After {
    /// Nothing: what is on record stands.
    Stands,
    /// This.
    Write(Box<Effect>),
    /// This, and somebody is alerted.
    Dispute(Box<Effect>),
}

/// What follows from the answer to a call that was written down as `sent`, with `on_record` in its place.
pub(super) fn after_witness(
    on_record: &Effect,
    sent: &Effect,
    answer: &Answer,
    now: Timestamp,
) -> After {
    let ours = matches!(&on_record.state, EffectState::Intended { .. })
        && on_record.generation == sent.generation
        && on_record.version >= sent.version;
    if ours {
        let next = answered(on_record, answer.clone(), left_at(answer, now), now);
        return After::Write(Box::new(next));
    }
    outrun(on_record, answer, now)
}

/// What follows from an answer where the effect is not under way any more.
pub(crate) fn outrun(on_record: &Effect, answer: &Answer, now: Timestamp) -> After {
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
pub(super) fn left_at(answer: &Answer, ended_at: Timestamp) -> Option<Timestamp> {
    match answer {
        Answer::Applied { .. } | Answer::Rejected(_) | Answer::MaybeApplied(_) => Some(ended_at),
        Answer::NotSent(_) => None,
    }
}
