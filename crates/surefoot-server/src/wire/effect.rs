//! Effects as others see them: what a job did outside, or may have done.

use serde::Serialize;
use surefoot_core::effect::{Effect, EffectRecovery, EffectState};
use surefoot_core::id::Epoch;
use surefoot_core::time::Timestamp;
use utoipa::ToSchema;

use super::dispute::{DisputeRecord, WitnessRecord};
use super::json::RawJson;
use super::time::WireTime;
use super::word::{EffectRecoveryWord, EffectStateWord};

/// One external side effect of a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Effect)]
pub(crate) struct EffectRecord {
    /// Which of the job's effects, counted from 0 in the order in which its handler comes to them.
    place: u32,
    /// Its name.
    name: String,
    /// What it calls, where that has a name.
    #[schema(required)]
    dependency: Option<String>,
    /// The key that the provider sees: the same on every attempt.
    key: String,
    /// What is known of it.
    state: EffectStateWord,
    /// What an unknown outcome means.
    recovery: EffectRecoveryWord,
    /// How many calls may have left under its key.
    sends: u32,
    /// When the first of them may have left.
    #[schema(required)]
    first_sent_at: Option<WireTime>,
    /// How many times the provider was asked since the outcome is unknown.
    asked: u32,
    /// When it is asked next, while the outcome is unknown.
    #[schema(required)]
    ask_at: Option<WireTime>,
    /// Since when the state stands.
    since: WireTime,
    /// What was answered, once it is confirmed.
    #[schema(required)]
    result: Option<RawJson>,
    /// Why it is not known, or why it was refused.
    #[schema(required)]
    error: Option<String>,
    /// Who said what became of it.
    #[schema(required)]
    witness: Option<WitnessRecord>,
    /// What is booked for it, in millionths: reserved while it may have happened.
    cost_micros: u64,
    /// Witnesses that came later and said something else.
    disputes: Vec<DisputeRecord>,
}

impl From<&Effect> for EffectRecord {
    fn from(effect: &Effect) -> Self {
        let known = Known::of(&effect.state);
        Self {
            place: effect.place,
            name: effect.name.to_string(),
            dependency: effect.dependency.as_ref().map(ToString::to_string),
            key: effect.key().to_string(),
            state: EffectStateWord(effect.state_name()),
            recovery: EffectRecoveryWord(effect.terms.recovery),
            sends: effect.sends,
            first_sent_at: effect.first_sent_at.map(WireTime),
            asked: effect.asked,
            ask_at: asked_at(effect).map(WireTime),
            since: known.since.into(),
            result: known.result,
            error: known.error,
            witness: known.witness,
            cost_micros: effect.cost.booked(),
            disputes: effect.disputes.iter().map(DisputeRecord::from).collect(),
        }
    }
}

/// When the provider is asked next.
fn asked_at(effect: &Effect) -> Option<Timestamp> {
    let asks = matches!(effect.terms.recovery, EffectRecovery::Verify { .. });
    match &effect.state {
        EffectState::Unknown { ask_at, .. } if asks => Some(*ask_at),
        EffectState::Unknown { .. }
        | EffectState::Intended { .. }
        | EffectState::Confirmed { .. }
        | EffectState::Rejected { .. }
        | EffectState::Absent { .. }
        | EffectState::NeedsHuman { .. } => None,
    }
}

/// What a state says.
struct Known {
    since: Timestamp,
    result: Option<RawJson>,
    error: Option<String>,
    witness: Option<WitnessRecord>,
}

impl Known {
    fn of(state: &EffectState) -> Self {
        let plain = |since| Self {
            since,
            result: None,
            error: None,
            witness: None,
        };
        match state {
            EffectState::Intended {
                epoch: Epoch(_),
                at,
            } => plain(*at),
            EffectState::Confirmed { at, result, by } => Self {
                result: Some(RawJson(result.clone())),
                witness: Some(WitnessRecord::from(by)),
                ..plain(*at)
            },
            EffectState::Rejected { at, error } => Self {
                error: Some(error.to_string()),
                ..plain(*at)
            },
            EffectState::Unknown { since, error, .. }
            | EffectState::NeedsHuman { since, error } => Self {
                error: Some(error.to_string()),
                ..plain(*since)
            },
            EffectState::Absent { at, by } => Self {
                witness: Some(WitnessRecord::from(by)),
                ..plain(*at)
            },
        }
    }
}
