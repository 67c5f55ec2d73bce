//! The service over HTTP.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::table::Payments;
use crate::error::LabError;
use crate::loopback::{self, Answer};
use crate::place::Database;

/// The longest that a charge may take.
const CHARGE_MAX: Duration = Duration::from_secs(10);

/// What the service does with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It looks whether there is a payment under it, charges when there is none, and writes the payment down.
    CheckThenAct,
    /// Nothing: it charges whenever it is asked.
    ChargeOnly,
}

/// How to run the service.
#[derive(Clone, Debug)]
pub struct PaymentOptions {
    /// What it does with a key.
    pub manner: Manner,
    /// Where its payments are.
    pub database: Database,
    /// The provider's URL, without a slash at the end.
    pub provider: String,
}

/// What a client asks for.
#[derive(Deserialize)]
struct Asked {
    amount: u64,
}

#[derive(Clone)]
struct Service {
    manner: Manner,
    payments: Payments,
    provider: reqwest::Client,
    url: String,
}

/// Serves until the process is ended. `ready` is told the URL.
///
/// # Errors
/// The database or the listener could not be opened, or the HTTP client could not be made.
pub async fn serve(
    options: PaymentOptions,
    ready: impl FnOnce(&str) -> std::io::Result<()>,
) -> Result<(), LabError> {
    let provider = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .timeout(CHARGE_MAX)
        .build()
        .map_err(LabError::Client)?;
    let service = Service {
        manner: options.manner,
        payments: Payments::open(&options.database).await?,
        provider,
        url: format!("{}/charges", options.provider),
    };
    let (listener, address) = loopback::listen().await?;
    ready(&format!("http://{address}")).map_err(LabError::io("say that it listens"))?;
    loopback::serve(listener, move |request| {
        let service = service.clone();
        async move { service.answer(request).await }
    })
    .await;
    Ok(())
}

impl Service {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        if (request.method(), request.uri().path()) != (&Method::POST, "/payments") {
            return (StatusCode::NOT_FOUND, Value::Null);
        }
        let key = request.headers().get("idempotency-key");
        let Some(key) = key.and_then(|key| key.to_str().ok()).map(str::to_owned) else {
            return (
                StatusCode::BAD_REQUEST,
                json!("an Idempotency-Key is needed"),
            );
        };
        let Some(Asked { amount }) = loopback::read(request).await else {
            return (StatusCode::BAD_REQUEST, json!("an amount is needed"));
        };
        let paid = match self.manner {
            Manner::CheckThenAct => self.check_then_act(&key, amount).await,
            Manner::ChargeOnly => self.charge_only(&key, amount).await,
        };
        paid.unwrap_or_else(|error| (StatusCode::INTERNAL_SERVER_ERROR, json!(error.to_string())))
    }

    async fn check_then_act(&self, key: &str, amount: u64) -> Result<Answer, LabError> {
        if let Some(payment) = self.payments.find(key).await? {
            return Ok((StatusCode::OK, payment));
        }
        let charge = self.charge(key, amount).await?;
        Ok(match self.payments.insert(key, charge).await {
            Ok(payment) => (StatusCode::CREATED, payment),
            Err(refused) => (StatusCode::INTERNAL_SERVER_ERROR, json!(refused)),
        })
    }

    async fn charge_only(&self, key: &str, amount: u64) -> Result<Answer, LabError> {
        let charge = self.charge(key, amount).await?;
        let made = json!({ "charge_id": charge, "amount": amount });
        Ok((StatusCode::CREATED, made))
    }

    /// Charges. The key goes along as a reference for the provider's books, which do not deduplicate.
    async fn charge(&self, key: &str, amount: u64) -> Result<i64, LabError> {
        let asked = json!({ "intent": key, "amount": amount });
        let request = self.provider.post(&self.url).json(&asked);
        let answered = async {
            let response = request.send().await?.error_for_status()?;
            response.json::<Value>().await
        };
        let answer = answered.await.map_err(LabError::Call)?;
        answer["charge"]
            .as_i64()
            .ok_or_else(|| LabError::Odd(answer.to_string()))
    }
}
