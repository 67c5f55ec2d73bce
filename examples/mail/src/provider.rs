//! The client of the mail provider. It says of each answer what may have happened, and never tries again by itself.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use surefoot::{Failure, Outcome, Verdict};
use surefoot_policy::Dependency;
use surefoot_policy::http_client::{Body, HttpClient};

use crate::Fault;
use crate::message::{Message, Sent};
use crate::settings::Settings;

/// The name of the provider where it is called and where it is watched.
pub const NAME: &str = "mail-provider";
/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The mail provider behind its policy.
#[derive(Clone)]
pub struct Provider {
    client: HttpClient,
    url: String,
}

impl Provider {
    /// The provider of the settings.
    ///
    /// # Errors
    /// A policy that contradicts itself.
    pub fn new(settings: &Settings) -> Result<Self, Fault> {
        Ok(Self {
            client: HttpClient::new(Dependency::new(NAME, settings.provider_policy())?),
            url: settings.provider.clone(),
        })
    }

    /// Sends a message, with our key as a reference that the provider keeps but does not go by.
    ///
    /// # Errors
    /// A failure that says whether the message may have been sent.
    pub async fn send(&self, message: &Message, key: &str) -> Outcome<Sent> {
        let Message {
            to, subject, body, ..
        } = message;
        let mail =
            serde_json::json!({ "reference": key, "to": to, "subject": subject, "body": body });
        let request = Request::post(format!("{}/messages", self.url))
            .header("content-type", "application/json")
            .body(Body::from(mail.to_string()))
            .map_err(|error| Failure::permanent(error.to_string()))?;
        let (status, answer) = self.exchange(request).await?;
        let text = String::from_utf8_lossy(&answer);
        match status.as_u16() {
            200..=299 => serde_json::from_str(&text)
                .map_err(|error| Failure::unknown(format!("no receipt of the provider: {error}"))),
            status => Err(Failure::http_status(status, format!("{status}: {text}"))),
        }
    }

    /// What became of the message with this reference, by the id that the provider gave it.
    ///
    /// # Errors
    /// The provider could not be asked.
    pub async fn find(&self, key: &str) -> Result<Verdict, Failure> {
        let request = Request::get(format!("{}/messages/{key}", self.url))
            .body(Body::empty())
            .map_err(|error| Failure::permanent(error.to_string()))?;
        let (status, answer) = self.exchange(request).await?;
        match status.as_u16() {
            200 => {
                let sent: Sent = serde_json::from_slice(&answer)
                    .map_err(|error| Failure::transient(error.to_string()))?;
                Ok(Verdict::happened(&sent)?)
            }
            404 => Ok(Verdict::DidNotHappen),
            _ => Ok(Verdict::StillUnknown { ask_again_in: None }),
        }
    }

    async fn exchange(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), Failure> {
        let answer = self.client.send(request).await;
        let (parts, body) = answer.map_err(|error| error.into_failure())?.into_parts();
        match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
            Ok(read) => Ok((parts.status, read.to_bytes())),
            Err(error) => Err(Failure::unknown(format!("the answer broke off: {error}"))),
        }
    }
}
