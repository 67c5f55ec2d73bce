//! The handler of one HTTP kind: its call is the job's one effect, and goes through the dependency's policy.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method};
use surefoot::{AtMostOnce, Cx, Handler, Recover, Repeatable, SameKey, Verdict, Verify};
use surefoot_core::failure::Failure;
use surefoot_core::id::ProviderKey;
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::time::Timestamp;
use surefoot_policy::context::{Ambient, Outer};
use surefoot_policy::dependency::Attempt;
use surefoot_policy::{Dependency, Meta};
use tracing::Instrument;

use super::answer::{self, Body};
use super::broken::Broken;
use super::fault;
use super::question;
use super::seen::Seen;
use super::told;
use super::traceparent::traceparent;
use crate::config::{Request, RequestRecovery, Verification};

/// What the call is called among the effects of its job.
const EFFECT: &str = "request";
/// The header with the attempt's number.
pub(super) const ATTEMPT_HEADER: &str = "x-surefoot-attempt";
/// So much earlier than its effect's time a call is over, so that the time-out that says more fires first.
const MARGIN: Duration = Duration::from_millis(20);

/// Runs an attempt by one call of a service, with the payload as the body.
pub(crate) struct HttpKind {
    client: Client,
    live: Dependency,
    request: Arc<Request>,
    headers: HeaderMap,
    url: String,
    seen: Seen,
    asks_seen: Option<Seen>,
}

impl HttpKind {
    /// The handler for calls of `request`, whose dependency is `live`.
    pub(crate) fn new(client: Client, live: Dependency, request: Request) -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in request.dependency.headers.iter().chain(&request.headers) {
            headers.insert(name, value.clone());
        }
        let url = format!("{}{}", request.dependency.base_url, request.path);
        let seen = Seen::new(&request.method, &url);
        let asks_seen = match &request.recovery {
            RequestRecovery::Verify(verification) => Some(Seen::new(&verification.method, &url)),
            RequestRecovery::SameKey { .. }
            | RequestRecovery::AtMostOnce
            | RequestRecovery::Repeatable => None,
        };
        Self {
            client,
            live,
            request: Arc::new(request),
            headers,
            url,
            seen,
            asks_seen,
        }
    }

    /// What a status means depends on what may be done about an unknown outcome.
    fn classified_by(&self) -> Recovery {
        match &self.request.recovery {
            RequestRecovery::SameKey { .. } => Recovery::SameKey,
            RequestRecovery::AtMostOnce | RequestRecovery::Verify(_) => Recovery::AtMostOnce,
            RequestRecovery::Repeatable => Recovery::Repeatable,
        }
    }

    fn recover<'a>(&'a self, cx: &'a Cx) -> Recover<'a> {
        match &self.request.recovery {
            RequestRecovery::SameKey { ttl: Some(ttl) } => SameKey::kept_for(*ttl).into(),
            RequestRecovery::SameKey { ttl: None } => SameKey::kept_for_ever().into(),
            RequestRecovery::AtMostOnce => AtMostOnce.into(),
            RequestRecovery::Repeatable => Repeatable.into(),
            RequestRecovery::Verify(verification) => {
                Verify::by(move |key| self.ask(cx, verification, key))
                    .settles_within(verification.settles_within)
                    .plan(verification.plan.clone())
                    .timeout(self.request.call_max)
                    .into()
            }
        }
    }

    /// While the policy repeats nothing, the job is the layer that retries, and says so to those below.
    fn ambient(&self, cx: &Cx) -> Ambient {
        let owner = Outer {
            attempt: cx.attempt(),
        };
        Ambient::new(None, (!self.request.dependency.repeats()).then_some(owner))
    }

    async fn call(&self, cx: &Cx, payload: &str, key: &ProviderKey) -> Result<Payload, Failure> {
        let within = self
            .request
            .call_max
            .min(cx.time_left())
            .saturating_sub(MARGIN);
        let meta = match &self.request.recovery {
            RequestRecovery::SameKey { .. } => Meta::keyed(key.as_str()),
            RequestRecovery::Repeatable => Meta::idempotent(),
            RequestRecovery::AtMostOnce | RequestRecovery::Verify(_) => Meta::once_only(),
        };
        let meta = Meta {
            within: Some(within),
            ..meta
        };
        let send = |attempt| self.send(cx, payload, key, attempt);
        let called = self.ambient(cx).scope(self.live.call(&meta, send)).await;
        let second_call_matters = self.request.recovery.unknown().second_call_matters();
        called.map_err(|error| told::failure(&self.request.dependency, second_call_matters, error))
    }

    async fn send(
        &self,
        cx: &Cx,
        payload: &str,
        key: &ProviderKey,
        attempt: Attempt<'_>,
    ) -> Result<Payload, Broken> {
        let sent = self.seen.begin(cx.attempt());
        let span = sent.span().clone();
        let mut headers = self.headers_of(cx, &attempt, &span)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let call = self
            .client
            .request(self.request.method.clone(), &self.url)
            .headers(headers)
            .header("idempotency-key", key.as_str())
            .body(payload.to_owned());
        let dependency = &self.request.dependency;
        let recovery = self.classified_by();
        let (status, result) = async {
            let (status, headers, body) = match self.answered(call).await {
                Ok(answered) => answered,
                Err((status, broken)) => return (status, Err(broken)),
            };
            if status.is_success() {
                return (Some(status), Ok(answer::result(status, body)));
            }
            let name = dependency.name.as_str();
            let failure = answer::refusal(name, recovery, status, &headers, &body, now());
            let keyed = recovery == Recovery::SameKey;
            (Some(status), Err(Broken::refused(failure, status, keyed)))
        }
        .instrument(span)
        .await;
        sent.ended(
            status,
            result.as_ref().err().map(|broken| broken.failure.class),
        );
        result
    }

    /// Asks what became of the call under this key; one attempt of one question.
    async fn ask(
        &self,
        cx: &Cx,
        verification: &Verification,
        key: ProviderKey,
    ) -> Result<Verdict, Failure> {
        let url = format!(
            "{}{}",
            self.request.dependency.base_url,
            question::path(&verification.path, key.as_str())
        );
        let within = self
            .request
            .call_max
            .min(cx.time_left())
            .saturating_sub(MARGIN);
        let meta = Meta {
            within: Some(within),
            ..Meta::idempotent()
        };
        let send = |attempt| self.send_question(cx, verification, &url, attempt);
        let asked = self.ambient(cx).scope(self.live.call(&meta, send)).await;
        asked.map_err(|error| told::failure(&self.request.dependency, false, error))
    }

    async fn send_question(
        &self,
        cx: &Cx,
        verification: &Verification,
        url: &str,
        attempt: Attempt<'_>,
    ) -> Result<Verdict, Broken> {
        let sent = self.asks_seen.as_ref().unwrap_or(&self.seen).begin(1);
        let span = sent.span().clone();
        let headers = self.headers_of(cx, &attempt, &span)?;
        let method: Method = verification.method.clone();
        let call = self.client.request(method, url).headers(headers);
        let name = self.request.dependency.name.as_str();
        let (status, result) = async {
            match self.answered(call).await {
                Err((status, broken)) => (status, Err(broken)),
                Ok((status, headers, body)) => {
                    let verdict =
                        question::verdict(name, verification, status, &headers, body, now());
                    (Some(status), verdict)
                }
            }
        }
        .instrument(span)
        .await;
        sent.ended(
            status,
            result.as_ref().err().map(|broken| broken.failure.class),
        );
        result
    }

    /// The headers of every request, with the trace, the deadline and the retry owner.
    fn headers_of(
        &self,
        cx: &Cx,
        attempt: &Attempt<'_>,
        span: &tracing::Span,
    ) -> Result<HeaderMap, Broken> {
        let mut headers = self.headers.clone();
        if !attempt.write_headers(&mut headers) {
            return Err(Broken::late(self.request.dependency.name.as_str()));
        }
        let traceparent = span.in_scope(|| traceparent(cx.trace()));
        if let Ok(traceparent) = HeaderValue::from_str(&traceparent) {
            headers.insert("traceparent", traceparent);
        }
        headers.insert(ATTEMPT_HEADER, HeaderValue::from(cx.attempt()));
        Ok(headers)
    }

    /// The whole of an answer. Without its end, the body of a success proves nothing: the service may have failed on the
    /// way.
    async fn answered(
        &self,
        call: reqwest::RequestBuilder,
    ) -> Result<(reqwest::StatusCode, HeaderMap, Body), (Option<reqwest::StatusCode>, Broken)> {
        let dependency = &self.request.dependency;
        let broken = |error: reqwest::Error| {
            let connect = dependency.policy.timeout.connect;
            let failure = fault::failure(dependency.name.as_str(), connect, &error);
            Broken::silent(failure, &error)
        };
        let mut response = call.send().await.map_err(|error| (None, broken(error)))?;
        let status = response.status();
        let body = match Body::read(&mut response).await {
            Ok(body) => body,
            Err(error) if status.is_success() => return Err((Some(status), broken(error))),
            Err(_) => Body::default(),
        };
        Ok((status, std::mem::take(response.headers_mut()), body))
    }
}

#[async_trait]
impl Handler for HttpKind {
    async fn run(&self, cx: Cx, payload: Payload) -> Result<Payload, Failure> {
        let payload = payload.into_string();
        let (cx, payload) = (&cx, payload.as_str());
        cx.effect(EFFECT)
            .dependency(self.request.dependency.name.as_str())?
            .timeout(self.request.call_max)
            .recover(self.recover(cx))
            .call_raw(|key| async move { Ok(self.call(cx, payload, &key).await?.into()) })
            .await
    }
}

/// The time by this host's clock, for dates of services that send none of their own.
fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::MIN.after(since)
}
