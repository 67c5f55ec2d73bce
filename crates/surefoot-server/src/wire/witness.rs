//! The word of a witness who was not asked, and what became of it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use surefoot_core::effect::{Verdict, Witness};
use surefoot_core::id::JobId;
use utoipa::ToSchema;

use super::by::{ByBody, MustReason};
use super::enqueue::payload;
use super::text::Text;
use crate::auth::Caller;
use crate::problem::Problem;

/// What a witness says who was not asked: a webhook, another program, a person.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Verdict)]
pub(crate) struct VerdictBody {
    /// What became of it.
    verdict: WitnessedWord,
    /// What the provider has on record, where it happened: any JSON of at most 1 MiB. Default `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// What it cost, in millionths, where it happened.
    cost_micros: Option<u64>,
    /// Who says so.
    actor: Option<String>,
    /// How a person knows. With a reason the witness is a person, without one a program.
    reason: Option<Text>,
}

/// What became of an effect or a request.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum WitnessedWord {
    /// It happened.
    Happened,
    /// It did not.
    DidNotHappen,
}

impl VerdictBody {
    pub(crate) fn into_verdict(self, caller: &Caller) -> Result<(Verdict, Witness), Problem> {
        let verdict = match self.verdict {
            WitnessedWord::Happened => Verdict::Happened {
                result: payload("result", self.result)?,
                cost: self.cost_micros,
            },
            WitnessedWord::DidNotHappen => Verdict::DidNotHappen,
        };
        let by = witness(self.actor, self.reason, caller)?;
        Ok((verdict, by))
    }
}

/// Who says so: a person where there is a reason, else a program.
pub(super) fn witness(
    actor: Option<String>,
    reason: Option<Text>,
    caller: &Caller,
) -> Result<Witness, Problem> {
    let is_person = reason.is_some();
    let by = ByBody { actor, reason };
    Ok(if is_person {
        Witness::Person(by.into_by(caller, MustReason::Yes)?)
    } else {
        Witness::Caller(by.into_by(caller, MustReason::No)?.actor)
    })
}

/// What became of the word of a witness.
#[derive(Serialize, ToSchema)]
pub(crate) struct Witnessed {
    /// The provider key.
    key: String,
    /// Whose effect it is.
    #[schema(format = "uuid")]
    job: String,
    /// What became of the word.
    outcome: WitnessedOutcome,
}

/// What became of the word of a witness.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WitnessedOutcome {
    /// It settled the effect, and its job goes on; or the request, and its repetitions are told.
    Settled,
    /// The same was known before.
    Same,
    /// Something else was known before: it is kept as a dispute, and somebody is alerted.
    Disputed,
}

impl Witnessed {
    pub(crate) fn new(key: &str, job: JobId, outcome: WitnessedOutcome) -> Self {
        Self {
            key: key.to_owned(),
            job: job.to_string(),
            outcome,
        }
    }
}
