//! From an effect to its document.

use surefoot_core::effect::{
    Cost, Dispute, Effect, EffectRecovery, EffectState, EffectTerms, Witness,
};
use surefoot_core::error::StoreError;
use surefoot_core::time::Timestamp;

use super::document;

/// The document of an effect, JSON text of about the size of its result and its error texts.
///
/// # Errors
/// [`StoreError::Broken`], naming the job and the place, when the effect has no JSON form, which no value of its type
/// brings about.
pub(crate) fn encode(effect: &Effect) -> Result<String, StoreError> {
    let document = document::Document {
        format: document::FORMAT,
        name: effect.name.as_str().into(),
        dependency: effect.dependency.as_ref().map(|name| name.as_str().into()),
        generation: effect.generation,
        terms: terms(&effect.terms),
        version: effect.version,
        sends: effect.sends,
        first_sent_at: effect.first_sent_at.map(Timestamp::as_micros),
        leaves_by: effect.leaves_by.map(Timestamp::as_micros),
        in_doubt: effect.in_doubt,
        asked: effect.asked,
        cost: cost(effect.cost),
        state: state(&effect.state),
        disputes: effect.disputes.iter().map(dispute).collect(),
    };
    serde_json::to_string(&document).map_err(|fault| {
        StoreError::Broken(format!(
            "effect {} of job {} has no document: {fault}",
            effect.place, effect.job
        ))
    })
}

fn terms(terms: &EffectTerms) -> document::Terms {
    document::Terms {
        unknown: match terms.recovery {
            EffectRecovery::Step => document::EffectRecovery::Step,
            EffectRecovery::Verify { settles_within } => {
                document::EffectRecovery::Verify { settles_within }
            }
            EffectRecovery::SameKey { ttl } => document::EffectRecovery::SameKey { ttl },
            EffectRecovery::AtMostOnce => document::EffectRecovery::AtMostOnce,
            EffectRecovery::Repeatable => document::EffectRecovery::Repeatable,
        },
        timeout: terms.timeout,
    }
}

fn cost(cost: Cost) -> document::Cost {
    document::Cost {
        reserved: cost.reserved,
        settled: cost.settled,
        earlier: cost.earlier,
    }
}

fn state(state: &EffectState) -> document::State<'_> {
    match state {
        EffectState::Intended { epoch, at } => document::State::Intended {
            epoch: epoch.0,
            at: at.as_micros(),
        },
        EffectState::Confirmed { at, result, by } => document::State::Confirmed {
            at: at.as_micros(),
            result: result.as_str().into(),
            by: witness(by),
        },
        EffectState::Rejected { at, error } => document::State::Rejected {
            at: at.as_micros(),
            error: error.as_str().into(),
        },
        EffectState::Unknown {
            since,
            ask_at,
            error,
        } => document::State::Unknown {
            since: since.as_micros(),
            ask_at: ask_at.as_micros(),
            error: error.as_str().into(),
        },
        EffectState::Absent { at, by } => document::State::Absent {
            at: at.as_micros(),
            by: witness(by),
        },
        EffectState::NeedsHuman { since, error } => document::State::NeedsHuman {
            since: since.as_micros(),
            error: error.as_str().into(),
        },
    }
}

/// The document of a witness.
pub(crate) fn witness(witness: &Witness) -> document::Witness<'_> {
    match witness {
        Witness::Answer => document::Witness::Answer,
        Witness::Query => document::Witness::Query,
        Witness::Caller(actor) => document::Witness::Caller {
            actor: actor.as_str().into(),
        },
        Witness::Person(by) => document::Witness::Person {
            actor: by.actor.as_str().into(),
            reason: by.reason.as_str().into(),
        },
    }
}

fn dispute(dispute: &Dispute) -> document::Dispute<'_> {
    document::Dispute {
        at: dispute.at.as_micros(),
        by: witness(&dispute.by),
        said: dispute.said.as_str().into(),
    }
}
