//! What people do to one job by hand.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use surefoot_core::id::JobId;
use surefoot_core::job::StateName;
use surefoot_core::payload::Payload;
use surefoot_core::port::{By, Replay, ReplayEffect};
use utoipa::ToSchema;

use super::by::{ByBody, MustReason};
use super::enqueue::payload;
use super::text::Text;
use super::word::StateWord;
use crate::auth::Caller;
use crate::problem::Problem;

/// A person's order to run a dead letter again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Replay)]
pub(crate) struct ReplayBody {
    /// Whether the provider is to see the same effect (the same provider key) or a new one. It must be said where the
    /// job's `dead.needs_effect_choice` is true.
    effect: Option<EffectChoice>,
    /// Who does it.
    actor: Option<String>,
    /// Why.
    reason: Option<Text>,
}

/// Whether a replay is the same effect.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum EffectChoice {
    /// The same provider key as before: a provider that deduplicates does nothing twice.
    Same,
    /// A new provider key: the provider may do it again.
    New,
}

impl ReplayBody {
    pub(crate) fn into_replay(self, caller: &Caller) -> Result<Replay, Problem> {
        let by = ByBody {
            actor: self.actor,
            reason: self.reason,
        };
        Ok(Replay {
            effect: self.effect.map(|effect| match effect {
                EffectChoice::Same => ReplayEffect::Same,
                EffectChoice::New => ReplayEffect::New,
            }),
            by: by.into_by(caller, MustReason::No)?,
        })
    }
}

/// A person's decision to set a dead letter aside.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Ignore)]
pub(crate) struct IgnoreBody {
    /// Who does it.
    actor: Option<String>,
    /// Why: more than blanks.
    #[schema(required, value_type = String, min_length = 1)]
    reason: Option<Text>,
}

impl IgnoreBody {
    pub(crate) fn into_by(self, caller: &Caller) -> Result<By, Problem> {
        let by = ByBody {
            actor: self.actor,
            reason: self.reason,
        };
        by.into_by(caller, MustReason::Yes)
    }
}

/// A new payload for a dead letter.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Edit)]
pub(crate) struct EditBody {
    /// The new payload, kept byte for byte.
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
    /// Who does it.
    actor: Option<String>,
    /// Why: more than blanks.
    #[schema(required, value_type = String, min_length = 1)]
    reason: Option<Text>,
}

impl EditBody {
    pub(crate) fn into_parts(self) -> Result<(Payload, ByBody), Problem> {
        let by = ByBody {
            actor: self.actor,
            reason: self.reason,
        };
        Ok((payload("payload", Some(self.payload))?, by))
    }
}

/// What a job's state is after a person's order.
#[derive(Serialize, ToSchema)]
pub(crate) struct Steered {
    /// Which job.
    #[schema(format = "uuid")]
    job: String,
    /// Its state from here on.
    state: StateWord,
    /// It runs and its holder was asked to stop.
    cancel_requested: bool,
}

impl Steered {
    pub(crate) fn to(job: JobId, state: StateName) -> Self {
        Self {
            job: job.to_string(),
            state: StateWord(state),
            cancel_requested: false,
        }
    }

    pub(crate) fn cancel_requested(job: JobId) -> Self {
        Self {
            cancel_requested: true,
            ..Self::to(job, StateName::Running)
        }
    }
}
