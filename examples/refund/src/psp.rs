//! The client of the payment provider. It says of each answer what may have happened, and never more than it knows.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use surefoot::core::payload::Payload;
use surefoot::{Failure, Outcome, Verdict};
use surefoot_policy::http_client::{Body, HttpClient};
use surefoot_policy::{Dependency, Policy, retry::RetryOptions};

use crate::Fault;
use crate::refund::{CALL_TIMEOUT, PSP};

/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How the provider is called.
#[must_use]
pub fn calls() -> Policy {
    let mut policy = Policy {
        // The job is what tries again; a second layer would multiply.
        retry: RetryOptions {
            attempts_max: 1,
            ..RetryOptions::default()
        },
        ..Policy::default()
    };
    policy.timeout.connect = CALL_TIMEOUT / 4;
    policy.timeout.attempt = CALL_TIMEOUT;
    policy.timeout.total = CALL_TIMEOUT;
    policy
}

/// The payment provider.
#[derive(Clone)]
pub struct Psp {
    client: HttpClient,
    url: String,
}

impl Psp {
    /// The provider at a base URL, behind [`calls`].
    ///
    /// # Errors
    /// The policy contradicts itself.
    pub fn new(url: &str) -> Result<Self, Fault> {
        Ok(Self {
            client: HttpClient::new(Dependency::new(PSP, calls())?),
            url: url.to_owned(),
        })
    }

    /// Pays `cents` back, once per key.
    ///
    /// # Errors
    /// A failure that says whether the money may have gone.
    pub async fn refund(&self, payment: &str, cents: u64, key: &str) -> Outcome<Value> {
        let body = serde_json::json!({ "payment": payment, "cents": cents }).to_string();
        let request = Request::post(format!("{}/refunds", self.url))
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(body))
            .map_err(|error| Failure::permanent(error.to_string()))?;
        let (status, answer) = self.send(request).await?;
        match status.as_u16() {
            200..=299 => Ok(serde_json::from_slice(&answer).unwrap_or(Value::Null)),
            429 | 503 => Err(Failure::transient(format!("refused with {status}")).rejected()),
            400..=499 => Err(Failure::permanent(format!(
                "{status}: {}",
                String::from_utf8_lossy(&answer)
            ))),
            // The provider stumbled, perhaps after it had paid.
            _ => Err(Failure::unknown(format!("answered with {status}"))),
        }
    }

    /// What became of the refund under this key.
    ///
    /// # Errors
    /// The provider could not be asked.
    pub async fn find_refund(&self, key: &str) -> Result<Verdict, Failure> {
        let request = Request::get(format!("{}/effects/{key}", self.url))
            .body(Body::empty())
            .map_err(|error| Failure::permanent(error.to_string()))?;
        let (status, answer) = self.send(request).await?;
        match status.as_u16() {
            200 => {
                let record = Payload::parse(String::from_utf8_lossy(&answer).into_owned());
                Ok(Verdict::Happened {
                    result: record.map_err(|error| Failure::transient(error.to_string()))?,
                    cost: None,
                })
            }
            404 => Ok(Verdict::DidNotHappen),
            _ => Ok(Verdict::StillUnknown { ask_again_in: None }),
        }
    }

    async fn send(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), Failure> {
        let answer = self.client.send(request).await;
        let (parts, body) = answer.map_err(|error| error.into_failure())?.into_parts();
        let read = http_body_util::Limited::new(body, ANSWER_BYTES_MAX);
        match read.collect().await {
            Ok(read) => Ok((parts.status, read.to_bytes())),
            Err(error) => Err(Failure::unknown(format!("the answer broke off: {error}"))),
        }
    }
}
