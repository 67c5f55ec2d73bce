//! The handler of one HTTP kind.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder};
use surefoot::{CancelCause, Cx, Handler};
use surefoot_core::failure::Failure;
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::time::Timestamp;

use super::answer::{self, Body};
use super::fault;
use super::traceparent::traceparent;
use crate::config::Request;

/// The header with the attempt's number.
pub(super) const ATTEMPT_HEADER: &str = "x-surefoot-attempt";

/// Runs an attempt by one call of a service, with the payload as the body.
pub(crate) struct HttpKind {
    client: Client,
    request: Arc<Request>,
    headers: HeaderMap,
    url: String,
    recovery: Recovery,
}

impl HttpKind {
    /// The handler for calls of `request` under this recovery.
    pub(crate) fn new(client: Client, request: Request, recovery: Recovery) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in request.dependency.headers.iter().chain(&request.headers) {
            headers.insert(name, value.clone());
        }
        let url = format!("{}{}", request.dependency.base_url, request.path);
        Self {
            client,
            request: Arc::new(request),
            headers,
            url,
            recovery,
        }
    }

    fn call(&self, cx: &Cx, payload: Payload) -> RequestBuilder {
        self.client
            .request(self.request.method.clone(), &self.url)
            .headers(self.headers.clone())
            .header("idempotency-key", cx.provider_key().as_str())
            .header("traceparent", traceparent(cx.trace()))
            .header(ATTEMPT_HEADER, cx.attempt())
            .body(payload.into_string())
    }

    async fn answered(&self, call: RequestBuilder) -> Result<Payload, Failure> {
        let dependency = &self.request.dependency;
        let broken = |error: reqwest::Error| {
            fault::failure(&dependency.name, dependency.connect_timeout, &error)
        };
        let mut response = call.send().await.map_err(broken)?;
        let status = response.status();
        let body = Body::read(&mut response).await;
        if status.is_success() {
            // Without its end, the body of a success proves nothing: the service may have failed on the way.
            return body
                .map(|body| answer::result(status, body))
                .map_err(broken);
        }
        let body = body.unwrap_or_default();
        let headers = response.headers();
        Err(answer::refusal(
            &dependency.name,
            self.recovery,
            status,
            headers,
            &body,
            now(),
        ))
    }

    /// Waits until the job has to be let go of while the call is out, and says why. Where the call must not be made
    /// again, the handler says so itself; elsewhere the engine gives the job back.
    async fn must_give_up(&self, cx: &Cx) -> &'static str {
        match cx.cancelled().await {
            CancelCause::LeaseLost => "the lease was lost",
            CancelCause::Draining if self.recovery == Recovery::AtMostOnce => "this node stops",
            CancelCause::Draining | CancelCause::Requested | CancelCause::TimedOut(_) => {
                std::future::pending().await
            }
        }
    }
}

#[async_trait]
impl Handler for HttpKind {
    async fn run(&self, cx: Cx, payload: Payload) -> Result<Payload, Failure> {
        let dependency = &self.request.dependency;
        let call = self.answered(self.call(&cx, payload));
        tokio::select! {
            biased;
            answered = tokio::time::timeout(dependency.attempt_timeout, call) => {
                answered.unwrap_or_else(|_| Err(fault::too_slow(&dependency.name, dependency.attempt_timeout)))
            }
            why = self.must_give_up(&cx) => Err(fault::given_up(&dependency.name, why)),
        }
    }
}

/// The time by this host's clock, for dates of services that send none of their own.
fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::MIN.after(since)
}
