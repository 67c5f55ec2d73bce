//! The word of a witness on a request, and what became of it.

use serde::{Deserialize, Serialize};
use surefoot_core::effect::Witness;
use surefoot_core::id::Tenant;
use surefoot_core::request::{Identity, Request, RequestKey, RequestVerdict};
use utoipa::ToSchema;

use super::body::{HeaderPair, ToldBody};
use super::text::Text;
use super::witness::{WitnessedOutcome, WitnessedWord, witness};
use super::word::RequestStateWord;
use crate::auth::Caller;
use crate::problem::Problem;

/// What a witness says became of a request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RequestVerdict)]
pub(crate) struct RequestVerdictBody {
    /// Whose request it is. Default `default`.
    tenant: Option<String>,
    /// What became of it.
    verdict: WitnessedWord,
    /// The status that was answered, 200 to 599; required where it happened, and given nowhere else, as the answer's other
    /// parts.
    #[schema(minimum = 200, maximum = 599)]
    status: Option<u16>,
    /// The headers that were answered, each as it is to be replayed. Default none.
    headers: Option<Vec<HeaderPair>>,
    /// The body that was answered, which may be empty. Without it, it is known that it happened and not what was answered:
    /// repetitions are told `result-not-kept`.
    body: Option<String>,
    /// The body in Base64 (RFC 4648, with padding), in the place of `body`.
    body_base64: Option<String>,
    /// Who says so.
    actor: Option<String>,
    /// How a person knows. With a reason the witness is a person, without one a program.
    reason: Option<Text>,
}

impl RequestVerdictBody {
    pub(crate) fn into_verdict(
        self,
        key: RequestKey,
        caller: &Caller,
    ) -> Result<(Identity, RequestVerdict, Witness), Problem> {
        let tenant = match self.tenant {
            Some(name) => Tenant::new(name).map_err(|error| Problem::name("tenant", &error))?,
            None => Tenant::single(),
        };
        let told = ToldBody {
            status: self.status,
            headers: self.headers,
            body: self.body,
            body_base64: self.body_base64,
        };
        let verdict = match self.verdict {
            WitnessedWord::Happened => RequestVerdict::Happened(told.into_kept()?),
            WitnessedWord::DidNotHappen if !told.is_empty() => {
                return Err(Problem::field(
                    "verdict",
                    "it did not happen, and there is an answer; leave out status, headers and body",
                ));
            }
            WitnessedWord::DidNotHappen => RequestVerdict::DidNotHappen,
        };
        let by = witness(self.actor, self.reason, caller)?;
        Ok((Identity { tenant, key }, verdict, by))
    }
}

/// What became of the word of a witness.
#[derive(Serialize, ToSchema)]
pub(crate) struct RequestWitnessed {
    /// Whose request it is.
    tenant: String,
    /// Its key.
    key: String,
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// The state that it is in.
    state: RequestStateWord,
    /// What became of the word.
    outcome: WitnessedOutcome,
}

impl RequestWitnessed {
    pub(crate) fn new(request: &Request, outcome: WitnessedOutcome) -> Self {
        Self {
            tenant: request.identity.tenant.to_string(),
            key: request.identity.key.to_string(),
            id: request.id.to_string(),
            state: RequestStateWord(request.state.name()),
            outcome,
        }
    }
}
