//! An API over a store in memory whose clock stands at [`NOW`] and whose faults a test scripts.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};
use surefoot::{Client, JobPolicy, Policies, Recovery};
use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::id::Kind;
use surefoot_core::port::{Messages, Requests};
use surefoot_core::time::Timestamp;
use surefoot_server::{Metrics, ServerOptions, router};
use surefoot_testkit::{FaultyStore, ManualClock, MemoryStore};
use tower::ServiceExt;

/// 2026-11-30T10:30:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_796_034_600_000_000);

pub(crate) struct Api {
    pub(crate) router: Router,
    pub(crate) store: FaultyStore,
    pub(crate) requests: Arc<dyn Requests>,
    pub(crate) messages: Arc<dyn Messages>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<ManualClock>,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Api {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ServerOptions)) -> Self {
        let clock = Arc::new(ManualClock::new(NOW));
        let memory = Arc::new(MemoryStore::new(clock.clone()));
        let store = FaultyStore::over(memory.clone(), 1);
        let requests: Arc<dyn Requests> = Arc::new(store.requests(memory.clone()));
        let messages: Arc<dyn Messages> = Arc::new(store.messages(memory));
        let metrics = Arc::new(Metrics::new());
        let api = Self {
            router: Router::new(),
            metrics,
            requests,
            messages,
            store,
            clock,
        };
        api.changed(change)
    }

    /// The same with other options.
    pub(crate) fn changed(mut self, change: impl FnOnce(&mut ServerOptions)) -> Self {
        let client = Client::new(
            Arc::new(self.store.clone()),
            self.clock.clone(),
            Arc::new(policies()),
            self.metrics.clone(),
        );
        let mut options = ServerOptions::new(|| Ok(()));
        change(&mut options);
        assert_eq!(options.validate(), Vec::<String>::new());
        self.router = router(
            client,
            self.requests.clone(),
            self.messages.clone(),
            self.metrics.clone(),
            options,
        );
        self
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(request(Method::GET, path).body(Body::empty()).unwrap())
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string()).await
    }

    pub(crate) async fn post_text(&self, path: &str, body: &str) -> Answer {
        self.send(with_json(Method::POST, path, body)).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 16 * 1024 * 1024).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text,
        }
    }

    /// Hands a job in and answers its id.
    pub(crate) async fn enqueue(&self, body: Value) -> String {
        let answer = self.post("/v1/jobs", &body).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Claims one job of a kind and answers its lease.
    pub(crate) async fn claim(&self, kind: &str) -> Value {
        let answer = self
            .post("/v1/leases", &json!({"worker": "w1", "kinds": [kind]}))
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let lease = answer.json()["leases"][0].clone();
        assert!(lease.is_object(), "no {kind} was due: {}", answer.text);
        lease
    }

    /// Hands a job in, claims it and makes a dead letter of it.
    pub(crate) async fn dead(&self, body: Value) -> String {
        let kind = body["kind"].as_str().unwrap().to_owned();
        let id = self.enqueue(body).await;
        let epoch = self.claim(&kind).await["epoch"].clone();
        let failure = json!({"epoch": epoch, "class": "permanent", "error": "no such card"});
        let answer = self.post(&format!("/v1/leases/{id}/fail"), &failure).await;
        assert_eq!(answer.json()["state"], "dead", "{}", answer.text);
        id
    }

    /// The job as it is.
    pub(crate) async fn job(&self, id: &str) -> Value {
        let answer = self.get(&format!("/v1/jobs/{id}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// That this is a problem of this type and status, whole and with a remedy; answers its detail.
    #[track_caller]
    pub(crate) fn problem(&self, slug: &str, status: u16) -> String {
        assert_eq!(
            self.header("content-type"),
            "application/problem+json",
            "{}",
            self.text
        );
        let problem = self.json();
        assert_eq!(
            problem["type"],
            format!("/problems/{slug}"),
            "{}",
            self.text
        );
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(problem["status"], status, "{}", self.text);
        for member in ["title", "detail", "remedy", "instance"] {
            assert!(
                problem[member]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{member}: {}",
                self.text
            );
        }
        problem["detail"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn request(method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:7070")
}

pub(crate) fn with_json(method: Method, path: &str, body: &str) -> Request<Body> {
    let request = request(method, path).header("content-type", "application/json");
    request
        .header("content-length", body.len())
        .body(Body::from(body.to_owned()))
        .unwrap()
}

/// `refund` is at most once and tried three times, ten minutes apart; other kinds have the default policy.
fn policies() -> Policies {
    let backoff = Backoff::List {
        delays: vec![Duration::from_secs(600)],
        jitter: Jitter::None,
    };
    let refund = JobPolicy {
        attempts_max: 3,
        backoff,
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let mut policies = Policies::new();
    policies.insert(Kind::new("refund").unwrap(), refund.clone());
    policies.insert(
        Kind::new("mail").unwrap(),
        JobPolicy {
            recovery: Some(Recovery::SameKey),
            ..refund
        },
    );
    policies
}
