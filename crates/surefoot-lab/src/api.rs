//! The little of Surefoot's HTTP API that the lab needs, as any user's program would call it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::error::LabError;
use crate::standing::Standing;

/// How long one request may take.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// States that go on by themselves, as `/v1/queues` counts them.
const OPEN: [&str; 4] = ["pending", "running", "retrying", "verifying"];

/// What became of handing something in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HandedIn {
    /// It is there; its id.
    There(String),
    /// The key belongs to another payload.
    Refused,
}

/// A client of one node.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    client: reqwest::Client,
    url: String,
}

impl Api {
    pub(crate) fn new(url: String) -> Result<Self, LabError> {
        // Only plain HTTP on the loopback, so no certificates are needed.
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .timeout(REQUEST_MAX)
            .build()
            .map_err(LabError::Client)?;
        Ok(Self { client, url })
    }

    /// Hands an intent in.
    pub(crate) async fn hand_in(
        &self,
        kind: &str,
        key: &str,
        payload: &Value,
    ) -> Result<HandedIn, LabError> {
        let body = json!({ "kind": kind, "key": key, "payload": payload });
        let (status, answer) = self.post("/v1/jobs", &body).await?;
        match (status, answer["id"].as_str()) {
            (200 | 202, Some(id)) => Ok(HandedIn::There(id.to_owned())),
            (409, _) => Ok(HandedIn::Refused),
            _ => Err(unexpected("POST", "/v1/jobs", status, &answer)),
        }
    }

    /// Holds all jobs back, so that they become due at once.
    pub(crate) async fn pause(&self) -> Result<(), LabError> {
        let path = "/v1/queues/default/pause";
        self.expect_done(
            path,
            self.post(path, &json!({ "reason": "until all are there" }))
                .await?,
        )
    }

    /// Lets them go.
    pub(crate) async fn resume(&self) -> Result<(), LabError> {
        let path = "/v1/queues/default/resume";
        self.expect_done(
            path,
            self.post(path, &json!({ "reason": "all are there" }))
                .await?,
        )
    }

    /// Whether nothing goes on by itself any more.
    pub(crate) async fn all_ended(&self) -> Result<bool, LabError> {
        let answer = self.get("/v1/queues").await?;
        let queues = answer["queues"].as_array().map_or(&[][..], Vec::as_slice);
        let none = |queue: &Value| OPEN.iter().all(|state| queue["counts"][state] == 0);
        Ok(queues.iter().all(none))
    }

    /// Whether there is no job at all.
    pub(crate) async fn is_empty(&self) -> Result<bool, LabError> {
        let answer = self.get("/v1/jobs?limit=1").await?;
        Ok(answer["jobs"].as_array().is_some_and(Vec::is_empty))
    }

    /// A job with its attempts.
    pub(crate) async fn job(&self, id: &str) -> Result<Value, LabError> {
        self.get(&format!("/v1/jobs/{id}")).await
    }

    async fn get(&self, path: &str) -> Result<Value, LabError> {
        let request = self.client.get(format!("{}{path}", self.url));
        match self.send("GET", path, request).await? {
            (200, answer) => Ok(answer),
            (status, answer) => Err(unexpected("GET", path, status, &answer)),
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Result<(u16, Value), LabError> {
        let request = self.client.post(format!("{}{path}", self.url)).json(body);
        self.send("POST", path, request).await
    }

    async fn send(
        &self,
        method: &'static str,
        path: &str,
        request: reqwest::RequestBuilder,
    ) -> Result<(u16, Value), LabError> {
        let broke = |error: reqwest::Error| LabError::Api {
            method,
            path: path.to_owned(),
            said: error.to_string(),
        };
        let response = request.send().await.map_err(broke)?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(broke)?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    fn expect_done(&self, path: &str, (status, answer): (u16, Value)) -> Result<(), LabError> {
        match status {
            200..=299 => Ok(()),
            _ => Err(unexpected("POST", path, status, &answer)),
        }
    }
}

fn unexpected(method: &'static str, path: &str, status: u16, answer: &Value) -> LabError {
    LabError::Api {
        method,
        path: path.to_owned(),
        said: format!("{status} {answer}"),
    }
}

/// How the intent of a job stands. A dead letter whose outcome nobody knows says so; any other one is told as failed.
pub(crate) fn standing(job: &Value) -> Standing {
    let text = |value: &Value| value.to_string();
    match job["state"].as_str() {
        Some("succeeded") => Standing::Done(text(&job["result"])),
        Some("dead") => match job["dead"]["reason"].as_str() {
            Some("outcome_unknown" | "crash_loop") => {
                Standing::Person(text(&job["dead"]["reason"]))
            }
            Some(_) | None => Standing::Failed(text(&job["dead"])),
        },
        Some("cancelled" | "ignored") => Standing::Failed(text(&job["reason"])),
        Some(_) | None => Standing::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_stands_as_something() {
        let table = [
            (
                json!({ "state": "succeeded", "result": { "refund": 1 } }),
                Standing::Done("{\"refund\":1}".into()),
            ),
            (
                json!({ "state": "dead", "dead": { "reason": "outcome_unknown" } }),
                Standing::Person("\"outcome_unknown\"".into()),
            ),
            (
                json!({ "state": "dead", "dead": { "reason": "exhausted" } }),
                Standing::Failed("{\"reason\":\"exhausted\"}".into()),
            ),
            (
                json!({ "state": "cancelled", "reason": "r" }),
                Standing::Failed("\"r\"".into()),
            ),
            (json!({ "state": "verifying" }), Standing::Open),
            (json!({}), Standing::Open),
        ];
        for (job, expected) in table {
            assert_eq!(standing(&job), expected, "{job}");
        }
    }
}
