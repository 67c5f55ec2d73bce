//! Writes down what the answer to a call says about its effect, and what the handler is told of it.

use surefoot_core::classify::{Certainty, Class};
use surefoot_core::effect::{Answer, Effect, EffectRecovery, EffectState};
use surefoot_core::failure::Failure;
use surefoot_core::payload::Payload;
use surefoot_core::text::ErrorText;

use super::book::Book;
use super::run::write_until;
use super::steps::{After, CROWDED, ROUNDS_MAX, on_answer};
use super::tell;
use super::write::Written;
use crate::cx::Cx;
use crate::job::Outcome;

/// What a failed call says about its effect.
pub(super) fn told(failure: &Failure) -> Answer {
    let text = failure.text.clone();
    match failure.certainty() {
        Certainty::NotSent => Answer::NotSent(text),
        Certainty::Rejected => Answer::Rejected(text),
        // Without a result nothing can be kept: somebody has to say what it was.
        Certainty::MaybeApplied | Certainty::Applied => Answer::MaybeApplied(text),
    }
}

/// Writes an answer down and returns the effect as it is on record then. Where a witness came first, its word stands, and
/// another answer is a dispute.
pub(super) async fn record(cx: &Cx, sent: Effect, answer: Answer) -> Outcome<Effect> {
    let book = cx.book();
    let (epoch, mut known) = (book.job().state.epoch, sent);
    for _ in 0..ROUNDS_MAX {
        let (next, disputed) = match on_answer(&known, epoch, &answer, book.now()) {
            After::Stands => return Ok(known),
            After::Write(next) => (*next, false),
            After::Dispute(next) => (*next, true),
        };
        match book.write(&next, None, write_until(cx)).await {
            Written::Done => {
                if let Some(client) = book.client().filter(|_| disputed) {
                    tell::tell_disputed(client, &book.job().kind, &next);
                }
                return Ok(next);
            }
            Written::Lost => return Err(book.loses(said_late(&known, &answer))),
            Written::Unsure => {
                let text = format!("what became of {} could not be written down", known.name);
                return Err(book.doubts(&text.into()));
            }
            Written::Changed(on_record) => {
                book.learn(known.place, on_record.as_deref().cloned());
                match on_record {
                    Some(on_record) => known = *on_record,
                    // The row of a call that did not leave never came to be.
                    None => return Ok(next),
                }
            }
        }
    }
    Err(book.doubts(&CROWDED.into()))
}

/// What a holder that lost its lease has to say, for its attempt's record.
fn said_late(effect: &Effect, answer: &Answer) -> ErrorText {
    let name = &effect.name;
    match answer {
        Answer::Applied { result, .. } => format!("{name} was applied: {}", result.as_str()),
        Answer::Rejected(error) => format!("{name} was rejected: {error}"),
        Answer::NotSent(error) => format!("{name} was not sent: {error}"),
        Answer::MaybeApplied(error) => format!("{name} may have been applied: {error}"),
    }
    .into()
}

/// What the handler is told.
pub(super) fn conclude(book: &Book, effect: &Effect, failure: Option<Failure>) -> Outcome<Payload> {
    let failure = failure.unwrap_or_else(|| Failure::unknown("a witness disputes the answer"));
    match &effect.state {
        EffectState::Confirmed { result, .. } => Ok(result.clone()),
        EffectState::Rejected { .. } | EffectState::Absent { .. } => Err(failure),
        EffectState::NeedsHuman { error, .. } => Err(book.doubts(error)),
        EffectState::Unknown { .. } | EffectState::Intended { .. } => match effect.terms.recovery {
            EffectRecovery::Verify { .. } | EffectRecovery::AtMostOnce => {
                Err(book.doubts(&failure.text))
            }
            // Put off, it is sent again under its key and uses up no attempt; the effect stays in doubt.
            EffectRecovery::SameKey { .. } if failure.put_off => Err(failure),
            EffectRecovery::SameKey { .. } => Err(Failure {
                class: Class::Unknown,
                ..failure
            }),
            EffectRecovery::Step | EffectRecovery::Repeatable => Err(failure),
        },
    }
}
