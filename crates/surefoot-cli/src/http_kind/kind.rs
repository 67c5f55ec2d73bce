//! The handler of one HTTP kind: its call is the job's one effect, and goes through the dependency's policy.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use surefoot::{AtMostOnce, Cx, Handler, Recover, Repeatable, SameKey, Verdict, Verify};
use surefoot_core::failure::Failure;
use surefoot_core::id::ProviderKey;
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::time::Timestamp;
use surefoot_policy::context::{Ambient, Outer};
use surefoot_policy::dependency::Attempt;
use surefoot_policy::{Dependency, Meta};

use super::answer;
use super::broken::Broken;
use super::exchange::Answered;
use super::question;
use super::seen::Seen;
use super::told;
use crate::config::{CallRecovery, Request, Verification};

/// What the call is called among the effects of its job.
const EFFECT: &str = "request";
/// So much earlier than its effect's time a call is over, so that the time-out that says more fires first.
const MARGIN: Duration = Duration::from_millis(20);

/// Runs an attempt by one call of a service, with the payload as the body.
pub(crate) struct HttpKind {
    client: Client,
    live: Dependency,
    pub(super) request: Arc<Request>,
    pub(super) headers: HeaderMap,
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
            CallRecovery::Verify(verification) => Some(Seen::new(&verification.method, &url)),
            CallRecovery::SameKey { .. } | CallRecovery::AtMostOnce | CallRecovery::Repeatable => {
                None
            }
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
            CallRecovery::SameKey { .. } => Recovery::SameKey,
            CallRecovery::AtMostOnce | CallRecovery::Verify(_) => Recovery::AtMostOnce,
            CallRecovery::Repeatable => Recovery::Repeatable,
        }
    }

    fn recover<'a>(&'a self, cx: &'a Cx) -> Recover<'a> {
        match &self.request.recovery {
            CallRecovery::SameKey { ttl: Some(ttl) } => SameKey::kept_for(*ttl).into(),
            CallRecovery::SameKey { ttl: None } => SameKey::kept_for_ever().into(),
            CallRecovery::AtMostOnce => AtMostOnce.into(),
            CallRecovery::Repeatable => Repeatable.into(),
            CallRecovery::Verify(verification) => {
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
        let meta = match &self.request.recovery {
            CallRecovery::SameKey { .. } => Meta::keyed(key.as_str()),
            CallRecovery::Repeatable => Meta::idempotent(),
            CallRecovery::AtMostOnce | CallRecovery::Verify(_) => Meta::once_only(),
        };
        let meta = Meta {
            within: Some(self.within(cx)),
            ..meta
        };
        let send = |attempt| self.send(cx, payload, key, attempt);
        let called = self.ambient(cx).scope(self.live.call(&meta, send)).await;
        let second_call_matters = self.request.recovery.effect().second_call_matters();
        called.map_err(|error| told::failure(&self.request.dependency, second_call_matters, error))
    }

    async fn send(
        &self,
        cx: &Cx,
        payload: &str,
        key: &ProviderKey,
        attempt: Attempt<'_>,
    ) -> Result<Payload, Broken> {
        let build = |mut headers: HeaderMap| {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let call = self.client.request(self.request.method.clone(), &self.url);
            call.headers(headers)
                .header("idempotency-key", key.as_str())
                .body(payload.to_owned())
        };
        let recovery = self.classified_by();
        let name = self.request.dependency.name.as_str();
        let means = |answered: Answered| {
            let Answered {
                status,
                headers,
                body,
            } = answered;
            if status.is_success() {
                return Ok(answer::result(status, body));
            }
            let failure = answer::refusal(name, recovery, status, &headers, &body, now());
            let keyed = recovery == Recovery::SameKey;
            Err(Broken::refused(failure, status, keyed))
        };
        let sent = self.seen.begin(cx.attempt());
        self.exchange(cx, &attempt, sent, build, means).await
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
        let meta = Meta {
            within: Some(self.within(cx)),
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
        let build = |headers: HeaderMap| {
            let method = verification.method.clone();
            self.client.request(method, url).headers(headers)
        };
        let name = self.request.dependency.name.as_str();
        let means = |answered: Answered| {
            let Answered {
                status,
                headers,
                body,
            } = answered;
            question::verdict(name, verification, status, &headers, body, now())
        };
        let sent = self.asks_seen.as_ref().unwrap_or(&self.seen).begin(1);
        self.exchange(cx, &attempt, sent, build, means).await
    }

    /// How long one call may take, or one question.
    fn within(&self, cx: &Cx) -> Duration {
        let left = self.request.call_max.min(cx.time_left());
        left.saturating_sub(MARGIN)
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
