//! The client of the payment provider, behind its policy. It says of each answer what may have happened, never more than it
//! knows, and it never sends a charge twice: that is for the job alone.

use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use surefoot::{Outcome, Verdict};
use surefoot_policy::dependency::Attempt;
use surefoot_policy::{Dependency, Meta};

use crate::Fault;
use crate::settings::Settings;

/// The provider where charges are sent to.
pub const NAME: &str = "psp";
/// The provider where it is asked.
pub const QUESTIONS: &str = "psp.questions";

/// What became of a charge. A refusal of the bank is an answer and no failure: it is final, and nobody has to look at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Charged {
    /// The money is there.
    Taken {
        /// What the provider calls it.
        charge: String,
    },
    /// The bank said no.
    Declined {
        /// Why, in its words.
        reason: String,
    },
}

/// What the provider has on record.
#[derive(Deserialize)]
struct Receipt {
    charge: String,
}

/// The payment provider; cheap to clone.
#[derive(Clone)]
pub struct Psp {
    charges: Dependency,
    /// A question costs the provider little and settles what is unknown: a breaker that keeps charges away must not keep it
    /// away.
    questions: Dependency,
    client: reqwest::Client,
    url: String,
}

impl Psp {
    /// The provider of the settings.
    ///
    /// # Errors
    /// A policy that contradicts itself.
    pub fn new(settings: &Settings, client: reqwest::Client) -> Result<Self, Fault> {
        Ok(Self {
            charges: Dependency::new(NAME, settings.provider_policy())?,
            questions: Dependency::new(QUESTIONS, settings.provider_policy())?,
            client,
            url: settings.provider.clone(),
        })
    }

    /// Takes `cents`, under a key by which the provider can be asked.
    ///
    /// # Errors
    /// A failure that says whether the money may have been taken.
    pub async fn charge(&self, cents: u64, key: &str) -> Outcome<Charged> {
        let url = format!("{}/charges", self.url);
        let body = serde_json::json!({ "cents": cents });
        let answer = self.charges.call(&Meta::once_only(), |attempt| {
            let request = self.client.post(&url).headers(headers(attempt));
            let request = request.header("idempotency-key", key).json(&body);
            async move {
                let answer = request.send().await?;
                if answer.status() == StatusCode::PAYMENT_REQUIRED {
                    let reason = answer.text().await?;
                    return Ok(Charged::Declined { reason });
                }
                let receipt: Receipt = answer.error_for_status()?.json().await?;
                Ok::<_, reqwest::Error>(taken(receipt))
            }
        });
        answer.await.map_err(|error| error.into_failure())
    }

    /// What became of the charge under this key.
    ///
    /// # Errors
    /// The provider could not be asked.
    pub async fn find(&self, key: &str) -> Outcome<Verdict> {
        let url = format!("{}/charges/{key}", self.url);
        let answer = self.questions.call(&Meta::idempotent(), |attempt| {
            let request = self.client.get(&url).headers(headers(attempt));
            async move {
                let answer = request.send().await?;
                if answer.status() == StatusCode::NOT_FOUND {
                    return Ok(None);
                }
                let receipt: Receipt = answer.error_for_status()?.json().await?;
                Ok::<_, reqwest::Error>(Some(taken(receipt)))
            }
        });
        match answer.await.map_err(|error| error.into_failure())? {
            Some(taken) => Ok(Verdict::happened(&taken)?),
            None => Ok(Verdict::DidNotHappen),
        }
    }
}

fn taken(receipt: Receipt) -> Charged {
    Charged::Taken {
        charge: receipt.charge,
    }
}

/// The deadline and the retry owner, for the next service.
fn headers(attempt: Attempt<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // False says that no time is left; the attempt time-out then ends the call at once.
    let _ = attempt.write_headers(&mut headers);
    headers
}
