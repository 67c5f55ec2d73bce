//! The handler of one HTTP kind.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder, StatusCode};
use surefoot::{Cx, Handler};
use surefoot_core::failure::Failure;
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::time::Timestamp;
use tracing::Instrument;

use super::answer::{self, Body};
use super::fault;
use super::seen::Seen;
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
    seen: Seen,
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
        let seen = Seen::new(&request.method, &url);
        Self {
            client,
            request: Arc::new(request),
            headers,
            url,
            recovery,
            seen,
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

    async fn answered(
        &self,
        call: RequestBuilder,
    ) -> (Option<StatusCode>, Result<Payload, Failure>) {
        let dependency = &self.request.dependency;
        let broken = |error: reqwest::Error| {
            fault::failure(
                dependency.name.as_str(),
                dependency.policy.timeout.connect,
                &error,
            )
        };
        let mut response = match call.send().await {
            Ok(response) => response,
            Err(error) => return (None, Err(broken(error))),
        };
        let status = response.status();
        let body = Body::read(&mut response).await;
        if status.is_success() {
            // Without its end, the body of a success proves nothing: the service may have failed on the way.
            return (
                Some(status),
                body.map(|body| answer::result(status, body))
                    .map_err(broken),
            );
        }
        let body = body.unwrap_or_default();
        let headers = response.headers();
        (
            Some(status),
            Err(answer::refusal(
                dependency.name.as_str(),
                self.recovery,
                status,
                headers,
                &body,
                now(),
            )),
        )
    }
}

#[async_trait]
impl Handler for HttpKind {
    async fn run(&self, cx: Cx, payload: Payload) -> Result<Payload, Failure> {
        let dependency = &self.request.dependency;
        let span = self.seen.span(cx.attempt());
        let call = span.in_scope(|| self.call(&cx, payload));
        let started = Instant::now();
        let answered = tokio::time::timeout(dependency.policy.timeout.attempt, self.answered(call));
        let (status, result) = answered.instrument(span.clone()).await.unwrap_or_else(|_| {
            (
                None,
                Err(fault::too_slow(
                    dependency.name.as_str(),
                    dependency.policy.timeout.attempt,
                )),
            )
        });
        self.seen.ended(&span, started.elapsed(), status, &result);
        result
    }
}

/// The time by this host's clock, for dates of services that send none of their own.
fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::MIN.after(since)
}
