//! Witnesses as others see them: who said what became of an effect or a request, and who said otherwise later.

use serde::Serialize;
use surefoot_core::effect::{Dispute, Witness};
use utoipa::ToSchema;

use super::time::WireTime;

/// Who said what became of an effect or a request.
#[derive(Serialize, ToSchema)]
#[schema(as = Witness)]
pub(super) struct WitnessRecord {
    /// `answer` of the call, `query` of who was called, `caller` such as a webhook, or `person`.
    kind: &'static str,
    /// Who, where it was a caller or a person.
    #[schema(required)]
    actor: Option<String>,
    /// Why, where it was a person.
    #[schema(required)]
    reason: Option<String>,
}

/// A witness that came too late and said something else.
#[derive(Serialize, ToSchema)]
#[schema(as = Dispute)]
pub(super) struct DisputeRecord {
    /// When.
    at: WireTime,
    /// Who.
    witness: WitnessRecord,
    /// What was said.
    said: String,
}

impl From<&Dispute> for DisputeRecord {
    fn from(dispute: &Dispute) -> Self {
        Self {
            at: dispute.at.into(),
            witness: WitnessRecord::from(&dispute.by),
            said: dispute.said.to_string(),
        }
    }
}

impl From<&Witness> for WitnessRecord {
    fn from(witness: &Witness) -> Self {
        let (kind, actor, reason) = match witness {
            Witness::Answer => ("answer", None, None),
            Witness::Query => ("query", None, None),
            Witness::Caller(actor) => ("caller", Some(actor.to_string()), None),
            Witness::Person(by) => (
                "person",
                Some(by.actor.to_string()),
                Some(by.reason.to_string()),
            ),
        };
        Self {
            kind,
            actor,
            reason,
        }
    }
}
