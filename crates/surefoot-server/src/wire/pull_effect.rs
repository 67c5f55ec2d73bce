//! What pull workers are told about their effects, and what they say of them. What an effect is to others stands in
//! [`super::effect`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use surefoot_core::effect::{Answer, Declared, EffectRecovery, EffectTerms, Verdict, VerifyPlan};
use surefoot_core::id::{DependencyName, EffectName, ProviderKey};
use surefoot_core::payload::Payload;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use utoipa::ToSchema;

use super::enqueue::payload;
use super::json::RawJson;
use super::text::Text;
use super::time::WireTime;
use crate::problem::Problem;

/// The longest time that a worker may name: 366 days.
const TIME_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;

/// An effect that a worker is about to carry out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BeginEffect)]
pub(crate) struct BeginEffectBody {
    /// The epoch of the lease.
    pub(crate) epoch: i64,
    /// Which of the job's effects, counted from 0 in the order in which the worker comes to them. Default 0.
    #[serde(default)]
    place: u32,
    /// Its name, the same in every version of the worker.
    #[schema(example = "psp.refund")]
    name: String,
    /// What it calls.
    dependency: Option<String>,
    /// What an unknown outcome means. There is no default.
    #[schema(required, value_type = EffectRecoveryBody)]
    recovery: Option<EffectRecoveryBody>,
    /// The longest that the call may take.
    #[schema(minimum = 1)]
    timeout_ms: u64,
    /// What it may cost, in millionths; booked for as long as it may have happened. Default 0.
    #[serde(default)]
    cost_micros: u64,
}

/// What an unknown outcome means.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schema(as = EffectRecovery)]
enum EffectRecoveryBody {
    /// The worker asks the provider before anything is sent again.
    Verify {
        /// How long after the call left it can still take effect: an earlier "did not happen" proves nothing.
        settles_within_ms: u64,
    },
    /// The provider deduplicates by key.
    SameKey {
        /// How long the provider keeps a key. Default: for ever.
        ttl_ms: Option<u64>,
    },
    /// Never send again.
    AtMostOnce,
    /// Twice does no harm.
    Repeatable,
}

impl BeginEffectBody {
    pub(crate) fn into_declared(self) -> Result<Declared, Problem> {
        let recovery = self.recovery.ok_or_else(|| {
            Problem::field(
                "recovery",
                "recovery is missing; say what an unknown outcome means, there is no default",
            )
        })?;
        let recovery = match recovery {
            EffectRecoveryBody::Verify { settles_within_ms } => EffectRecovery::Verify {
                settles_within: millis("recovery.verify.settles_within_ms", settles_within_ms)?,
            },
            EffectRecoveryBody::SameKey { ttl_ms } => EffectRecovery::SameKey {
                ttl: ttl_ms
                    .map(|ttl_ms| millis("recovery.same_key.ttl_ms", ttl_ms))
                    .transpose()?,
            },
            EffectRecoveryBody::AtMostOnce => EffectRecovery::AtMostOnce,
            EffectRecoveryBody::Repeatable => EffectRecovery::Repeatable,
        };
        let dependency = self.dependency.map(DependencyName::new).transpose();
        Ok(Declared {
            place: self.place,
            name: EffectName::new(self.name).map_err(|error| Problem::name("name", &error))?,
            dependency: dependency.map_err(|error| Problem::name("dependency", &error))?,
            terms: EffectTerms {
                recovery,
                timeout: millis("timeout_ms", self.timeout_ms)?,
            },
            cost: self.cost_micros,
        })
    }
}

fn millis(field: &str, millis: u64) -> Result<Duration, Problem> {
    if (1..=TIME_MS_MAX).contains(&millis) {
        Ok(Duration::from_millis(millis))
    } else {
        let detail = format!("{field} is {millis}, give 1 to {TIME_MS_MAX}");
        Err(Problem::field(field, detail))
    }
}

/// What to do about an effect.
#[derive(Serialize, ToSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum EffectOrder {
    /// Send it under this key, if it can leave within this time; else say `not_sent`, then begin again.
    Send {
        /// The provider key.
        key: String,
        /// The call must leave within this time, counted from when the request was sent.
        leave_within_ms: u64,
    },
    /// It happened: go on with this result.
    Return {
        /// What the provider answered then.
        result: RawJson,
    },
    /// Ask the provider what became of it, and say so as a verdict.
    Ask {
        /// The provider key.
        key: String,
    },
    /// Report `unknown`: it is asked about later.
    AskLater {
        /// Not before this.
        at: WireTime,
        /// Why nobody knows.
        error: String,
    },
    /// Report `unknown`: a person decides.
    Person {
        /// Why.
        error: String,
    },
}

impl EffectOrder {
    pub(crate) fn send(key: &ProviderKey, leave_within: Duration) -> Self {
        Self::Send {
            key: key.to_string(),
            leave_within_ms: u64::try_from(leave_within.as_millis()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn result(result: Payload) -> Self {
        Self::Return {
            result: RawJson(result),
        }
    }

    pub(crate) fn ask(key: &ProviderKey) -> Self {
        Self::Ask {
            key: key.to_string(),
        }
    }

    pub(crate) fn ask_later(at: Timestamp, error: &ErrorText) -> Self {
        Self::AskLater {
            at: at.into(),
            error: error.to_string(),
        }
    }

    pub(crate) fn person(error: &ErrorText) -> Self {
        Self::Person {
            error: error.to_string(),
        }
    }
}

/// What is known after a call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AnswerEffect)]
pub(crate) struct AnswerBody {
    /// The epoch of the lease.
    pub(crate) epoch: i64,
    /// What is known.
    outcome: AnswerWord,
    /// What the provider answered, where it was applied: any JSON of at most 1 MiB. Default `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// What happened, where it was not.
    error: Option<Text>,
    /// What it cost, in millionths, where it was applied. Default: what was reserved.
    cost_micros: Option<u64>,
}

/// What is known after a call.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum AnswerWord {
    /// It was applied.
    Applied,
    /// The provider refused it before it did anything.
    Rejected,
    /// Nothing left.
    NotSent,
    /// It may have been applied: a time-out, a reset after bytes left.
    MaybeApplied,
}

impl AnswerBody {
    pub(crate) fn into_answer(self) -> Result<Answer, Problem> {
        let error = error(self.error);
        Ok(match self.outcome {
            AnswerWord::Applied => Answer::Applied {
                result: payload("result", self.result)?,
                cost: self.cost_micros,
            },
            AnswerWord::Rejected => Answer::Rejected(error),
            AnswerWord::NotSent => Answer::NotSent(error),
            AnswerWord::MaybeApplied => Answer::MaybeApplied(error),
        })
    }
}

/// What the provider said when a worker asked it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EffectAsked)]
pub(crate) struct AskedBody {
    /// The epoch of the lease.
    pub(crate) epoch: i64,
    /// What it said.
    verdict: VerdictWord,
    /// What the provider has on record, where it happened. Default `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// What it cost, in millionths, where it happened.
    cost_micros: Option<u64>,
    /// Where it is still unknown: when to ask again at the earliest.
    ask_again_in_ms: Option<u64>,
    /// Why a person must decide.
    error: Option<Text>,
}

/// What a provider says.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictWord {
    /// It happened.
    Happened,
    /// It did not.
    DidNotHappen,
    /// It cannot be said yet.
    StillUnknown,
    /// Only a person can tell.
    NeedsHuman,
}

impl AskedBody {
    /// The verdict. Workers ask by the standard plan: the engine keeps the schedule.
    pub(crate) fn into_verdict(self) -> Result<(Verdict, VerifyPlan), Problem> {
        let ask_again_in = self
            .ask_again_in_ms
            .map(|again| millis("ask_again_in_ms", again))
            .transpose()?;
        let verdict = match self.verdict {
            VerdictWord::Happened => Verdict::Happened {
                result: payload("result", self.result)?,
                cost: self.cost_micros,
            },
            VerdictWord::DidNotHappen => Verdict::DidNotHappen,
            VerdictWord::StillUnknown => Verdict::StillUnknown { ask_again_in },
            VerdictWord::NeedsHuman => Verdict::NeedsHuman(error(self.error)),
        };
        Ok((verdict, VerifyPlan::default()))
    }
}

fn error(given: Option<Text>) -> ErrorText {
    given.map_or_else(|| ErrorText::from("no reason was given"), |Text(text)| text)
}
