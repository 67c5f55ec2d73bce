//! A client of the HTTP API.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long a test waits for something to happen.
const WAIT_MAX: Duration = Duration::from_secs(60);

pub(crate) struct Api {
    client: reqwest::Client,
    url: String,
    token: Option<&'static str>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Api {
    pub(crate) fn new(url: String) -> Self {
        // An error says that another test of this process chose it before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            client: reqwest::Client::new(),
            url,
            token: None,
        }
    }

    pub(crate) fn with_token(self, token: &'static str) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call(Method::POST, path, Some(body), &[]).await
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Reply {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        Reply {
            status,
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        }
    }

    /// Hands in a job and answers its id.
    pub(crate) async fn enqueue(&self, kind: &str, key: &str, payload: Value) -> String {
        let reply = self
            .post(
                "/v1/jobs",
                json!({ "kind": kind, "key": key, "payload": payload }),
            )
            .await;
        assert!(matches!(reply.status, 200 | 202), "{reply:?}");
        reply.body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn job(&self, id: &str) -> Value {
        let reply = self.get(&format!("/v1/jobs/{id}")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body
    }

    /// Waits until the job is in one of these states.
    pub(crate) async fn job_in(&self, id: &str, states: &[&str]) -> Value {
        let ends_at = Instant::now() + WAIT_MAX;
        loop {
            let job = self.job(id).await;
            if states.contains(&job["state"].as_str().unwrap()) {
                return job;
            }
            assert!(Instant::now() < ends_at, "not in {states:?}: {job:#}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let ends_at = Instant::now() + WAIT_MAX;
    while !holds().await {
        assert!(Instant::now() < ends_at, "it never came true: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
