//! The client of the payment provider in act two, behind its policy. It says of each answer what may have happened. It never
//! sends a charge twice: that is for the job alone.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use surefoot::{Failure, Outcome, Verdict};
use surefoot_policy::breaker::BreakerOptions;
use surefoot_policy::bulkhead::BulkheadOptions;
use surefoot_policy::retry::RetryOptions;
use surefoot_policy::timeout::TimeoutOptions;
use surefoot_policy::{Dependency, Meta, Policy};

use crate::checkout::Order;
use crate::error::DemoError;
use crate::outbound;
use crate::times::{BREAKER_OPEN, CHARGE_TIMEOUT, SETTLES_WITHIN};

/// What the provider gives for a charge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    charge: u64,
}

/// The payment provider.
#[derive(Clone)]
pub(super) struct Psp {
    pub(super) charges: Dependency,
    /// Questions cost the provider little and settle what is unknown: a breaker that keeps charges away does not hold them up.
    questions: Dependency,
    client: reqwest::Client,
    url: String,
}

/// One layer sends again: the job. So the policy makes one attempt, and its breaker gives the provider rest.
fn policy() -> Policy {
    Policy {
        timeout: TimeoutOptions {
            connect: Duration::from_millis(500),
            attempt: CHARGE_TIMEOUT,
            total: CHARGE_TIMEOUT + Duration::from_millis(500),
            ..TimeoutOptions::default()
        },
        retry: RetryOptions {
            attempts_max: 1,
            ..RetryOptions::default()
        },
        breaker: BreakerOptions {
            window: SETTLES_WITHIN,
            calls_min: 10,
            failure_ratio: 0.65,
            open_for: BREAKER_OPEN,
            open_for_max: BREAKER_OPEN,
            probes: 4,
            probe_lease: CHARGE_TIMEOUT,
            ramp: BREAKER_OPEN,
            ..BreakerOptions::default()
        },
        bulkhead: BulkheadOptions {
            limit: 32,
            ..BulkheadOptions::default()
        },
        ..Policy::default()
    }
}

impl Psp {
    pub(super) fn new(url: &str) -> Result<Self, DemoError> {
        let dependency = |name| {
            let made = Dependency::new(name, policy());
            made.map_err(DemoError::unsound("the policy of the provider"))
        };
        Ok(Self {
            charges: dependency("psp")?,
            questions: dependency("psp.questions")?,
            client: outbound::client()?,
            url: url.to_owned(),
        })
    }

    /// Charges once. The provider knows the key, but it does not deduplicate by it.
    pub(super) async fn charge(&self, order: &Order, key: &str) -> Outcome<Receipt> {
        let url = format!("{}/charges", self.url);
        let answer = self.charges.call(&Meta::once_only(), |attempt| {
            let request = self.client.post(&url).header("idempotency-key", key);
            let request = request.headers(headers(attempt)).json(order);
            async move { request.send().await?.error_for_status()?.json().await }
        });
        Ok(answer.await?)
    }

    /// What became of the charge under this key.
    pub(super) async fn find(&self, key: &str) -> Result<Verdict, Failure> {
        let url = format!("{}/charges/{key}", self.url);
        let answer = self.questions.call(&Meta::idempotent(), |attempt| {
            let request = self.client.get(&url).headers(headers(attempt));
            async move {
                let answer = request.send().await?;
                if answer.status() == StatusCode::NOT_FOUND {
                    return Ok(None);
                }
                answer.error_for_status()?.json::<Receipt>().await.map(Some)
            }
        });
        match answer.await? {
            Some(receipt) => Ok(Verdict::happened(&receipt)?),
            None => Ok(Verdict::DidNotHappen),
        }
    }
}

/// The deadline and the retry owner, for the next service.
fn headers(attempt: surefoot_policy::dependency::Attempt<'_>) -> HeaderMap<HeaderValue> {
    let mut headers = HeaderMap::new();
    // False says that no time is left; the attempt time-out then ends the call at once.
    let _ = attempt.write_headers(&mut headers);
    headers
}
