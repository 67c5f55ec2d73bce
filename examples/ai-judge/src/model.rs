//! The client of the model. It says of each answer what may have happened, hands on what the model said word for word, and
//! never tries again by itself: the job does that.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot::{Failure, Outcome};
use surefoot_policy::meaning::{Meaning, Meant};
use surefoot_policy::{Dependency, Meta};

use crate::Fault;
use crate::grading::Grade;
use crate::settings::Settings;

/// The name of the model where it is called and where it is watched.
pub const NAME: &str = "model";
/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// The model behind its policy.
#[derive(Clone)]
pub struct Model {
    client: reqwest::Client,
    dependency: Dependency,
    url: String,
    token: Option<String>,
}

/// What the model says about a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marked {
    /// 0 to 10.
    pub score: u8,
    /// For the student.
    pub feedback: String,
    /// What the call cost, in millionths; `None` when the model does not say.
    #[serde(default)]
    pub cost_micros: Option<u64>,
}

/// An answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// The status.
    pub status: u16,
    /// The body; what is no text in it is replaced.
    pub body: String,
    retry_after: Option<Duration>,
}

impl Model {
    /// The model of the settings.
    ///
    /// # Errors
    /// A policy that contradicts itself, or no TLS.
    pub fn new(settings: &Settings) -> Result<Self, Fault> {
        // An error says that another part of the program chose before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let policy = settings.model_policy();
        let builder = reqwest::Client::builder();
        // Without TLS no certificates are needed, and a machine that has none must do.
        let builder = match settings.model.starts_with("http://") {
            true => builder.tls_certs_only([]),
            false => builder,
        };
        let client = builder
            .connect_timeout(policy.timeout.connect)
            .retry(reqwest::retry::never())
            .build()?;
        Ok(Self {
            client,
            dependency: Dependency::new(NAME, policy)?,
            url: settings.model.clone(),
            token: settings.token.clone(),
        })
    }

    /// The dependency, to be watched.
    #[must_use]
    pub fn dependency(&self) -> &Dependency {
        &self.dependency
    }

    /// Asks for a grade and hands on whatever is answered, good or bad.
    ///
    /// # Errors
    /// No answer came: a failure that says whether the question may have arrived.
    pub async fn ask(&self, work: &Grade) -> Outcome<Raw> {
        let question = serde_json::json!({ "rubric": work.rubric, "answer": work.answer });
        let answer = self.dependency.call(&Meta::idempotent(), |_| {
            let mut request = self.client.post(&self.url).json(&question);
            if let Some(token) = &self.token {
                request = request.bearer_auth(token);
            }
            async move { read(request.send().await.map_err(Unheard::Silent)?).await }
        });
        match answer.await {
            Ok(raw) => Ok(raw),
            // A refusal is an answer: it is kept like any other, and `marked` says what it means.
            Err(error) => match error.last() {
                Some(Unheard::Refused(raw)) => Ok(raw.clone()),
                Some(Unheard::Silent(_)) | None => Err(error.into_failure()),
            },
        }
    }
}

impl Raw {
    /// The grade in an answer.
    ///
    /// # Errors
    /// 503 and 429 may pass; a rubric that the model refuses does not get better by asking again; words that are no grade
    /// may be better next time, and were paid for.
    pub fn marked(&self) -> Outcome<Marked> {
        match self.status {
            200..=299 => serde_json::from_str(&self.body)
                .map_err(|error| Failure::unknown(format!("the model gave no grade: {error}"))),
            status => {
                let failure = Failure::http_status(status, format!("{status}: {}", self.body));
                Err(Failure {
                    retry_after: self.retry_after,
                    ..failure
                })
            }
        }
    }
}

/// Why a call brought no grade, for the breaker of the model.
#[derive(Debug)]
enum Unheard {
    /// It answered with another status than 2xx.
    Refused(Raw),
    /// No answer.
    Silent(reqwest::Error),
}

impl Meant for Unheard {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Refused(raw) => {
                Meaning::of_status(raw.status, false, raw.retry_after).unwrap_or(Meaning::TRANSIENT)
            }
            Self::Silent(error) => error.meaning(),
        }
    }
}

impl std::fmt::Display for Unheard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(raw) => write!(f, "status {}", raw.status),
            Self::Silent(error) => error.fmt(f),
        }
    }
}

async fn read(mut answer: reqwest::Response) -> Result<Raw, Unheard> {
    let status = answer.status();
    let retry_after = answer.headers().get("retry-after");
    let retry_after = retry_after
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(Unheard::Silent)? {
        body.extend_from_slice(&chunk);
        if body.len() >= ANSWER_BYTES_MAX {
            body.truncate(ANSWER_BYTES_MAX);
            break;
        }
    }
    let raw = Raw {
        status: status.as_u16(),
        body: String::from_utf8_lossy(&body).into_owned(),
        retry_after,
    };
    if status.is_success() {
        Ok(raw)
    } else {
        Err(Unheard::Refused(raw))
    }
}
