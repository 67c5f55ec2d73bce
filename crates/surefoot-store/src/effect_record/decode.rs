//! From a document to its effect. A document was checked before it was written; one that does not read back is a broken
//! invariant, never an effect that is almost right.

use surefoot_core::effect::{
    Cost, Dispute, Effect, EffectRecovery, EffectState, EffectTerms, Witness,
};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, NameError};
use surefoot_core::payload::Payload;
use surefoot_core::port::By;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::document::{self, Document, FORMAT, Header};

/// The effect in the document that is kept for a job's effect at a place.
///
/// # Errors
/// [`StoreError::Broken`], naming the job and the place, when it is no document of a format that is known here, or holds
/// what nobody writes.
pub(crate) fn decode(job: JobId, place: u32, text: &str) -> Result<Effect, StoreError> {
    read(job, place, text).map_err(|fault| {
        StoreError::Broken(format!(
            "the document of effect {place} of job {job}: {fault}"
        ))
    })
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("it has format {0}, this build reads {FORMAT}")]
    Format(u32),
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("{0}")]
    Name(#[from] NameError),
    #[error("{0} microseconds since 1970 is no time that is kept")]
    Time(i64),
}

fn read(job: JobId, place: u32, text: &str) -> Result<Effect, Fault> {
    let document: Document<'_> =
        serde_json::from_str(text).map_err(|fault| match serde_json::from_str(text) {
            Ok(Header { format }) if format != FORMAT => Fault::Format(format),
            Ok(Header { .. }) | Err(_) => Fault::Json(fault),
        })?;
    if document.format != FORMAT {
        return Err(Fault::Format(document.format));
    }
    Ok(Effect {
        job,
        place,
        name: document.name.parse()?,
        dependency: document
            .dependency
            .map(|dependency| dependency.parse())
            .transpose()?,
        generation: document.generation,
        terms: terms(&document.terms),
        version: document.version,
        sends: document.sends,
        first_sent_at: document.first_sent_at.map(time).transpose()?,
        leaves_by: document.leaves_by.map(time).transpose()?,
        in_doubt: document.in_doubt,
        asked: document.asked,
        cost: Cost {
            reserved: document.cost.reserved,
            settled: document.cost.settled,
            earlier: document.cost.earlier,
        },
        state: state(document.state)?,
        disputes: document
            .disputes
            .into_iter()
            .map(dispute)
            .collect::<Result<_, _>>()?,
    })
}

fn time(micros: i64) -> Result<Timestamp, Fault> {
    let time = Timestamp::from_micros(micros);
    if time.as_micros() == micros {
        Ok(time)
    } else {
        Err(Fault::Time(micros))
    }
}

fn terms(terms: &document::Terms) -> EffectTerms {
    EffectTerms {
        recovery: match terms.unknown {
            document::EffectRecovery::Step => EffectRecovery::Step,
            document::EffectRecovery::Verify { settles_within } => {
                EffectRecovery::Verify { settles_within }
            }
            document::EffectRecovery::SameKey { ttl } => EffectRecovery::SameKey { ttl },
            document::EffectRecovery::AtMostOnce => EffectRecovery::AtMostOnce,
            document::EffectRecovery::Repeatable => EffectRecovery::Repeatable,
        },
        timeout: terms.timeout,
    }
}

fn state(state: document::State<'_>) -> Result<EffectState, Fault> {
    Ok(match state {
        document::State::Intended { epoch, at } => EffectState::Intended {
            epoch: Epoch(epoch),
            at: time(at)?,
        },
        document::State::Confirmed { at, result, by } => EffectState::Confirmed {
            at: time(at)?,
            result: Payload::from_store(result.into_owned()),
            by: witness(&by)?,
        },
        document::State::Rejected { at, error } => EffectState::Rejected {
            at: time(at)?,
            error: ErrorText::from(&*error),
        },
        document::State::Unknown {
            since,
            ask_at,
            error,
        } => EffectState::Unknown {
            since: time(since)?,
            ask_at: time(ask_at)?,
            error: ErrorText::from(&*error),
        },
        document::State::Absent { at, by } => EffectState::Absent {
            at: time(at)?,
            by: witness(&by)?,
        },
        document::State::NeedsHuman { since, error } => EffectState::NeedsHuman {
            since: time(since)?,
            error: ErrorText::from(&*error),
        },
    })
}

/// The witness in its document.
///
/// # Errors
/// Its actor is none.
pub(crate) fn witness(witness: &document::Witness<'_>) -> Result<Witness, NameError> {
    Ok(match witness {
        document::Witness::Answer => Witness::Answer,
        document::Witness::Query => Witness::Query,
        document::Witness::Caller { actor } => Witness::Caller(actor.parse()?),
        document::Witness::Person { actor, reason } => Witness::Person(By {
            actor: actor.parse()?,
            reason: ErrorText::from(&**reason),
        }),
    })
}

fn dispute(dispute: document::Dispute<'_>) -> Result<Dispute, Fault> {
    Ok(Dispute {
        at: time(dispute.at)?,
        by: witness(&dispute.by)?,
        said: ErrorText::from(&*dispute.said),
    })
}
