//! One request to a service, from its span to the end of its answer: the same for a call and for a question. What the
//! answer means is for whoever asked to say.

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, StatusCode};
use surefoot::Cx;
use surefoot_policy::dependency::Attempt;
use tracing::Instrument;

use super::body::Body;
use super::broken::Broken;
use super::fault;
use super::kind::HttpKind;
use super::seen::Sent;
use super::traceparent::traceparent;

/// The header with the attempt's number.
pub(super) const ATTEMPT_HEADER: &str = "x-surefoot-attempt";

/// A whole answer.
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

impl HttpKind {
    /// Sends the request that `build` makes of the headers; `means` says what its answer is worth.
    pub(super) async fn exchange<T>(
        &self,
        cx: &Cx,
        attempt: &Attempt<'_>,
        sent: Sent<'_>,
        build: impl FnOnce(HeaderMap) -> RequestBuilder,
        means: impl FnOnce(Answered) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let span = sent.span().clone();
        let request = build(self.headers_of(cx, attempt, &span)?);
        let (status, result) = match self.answered(request).instrument(span).await {
            Ok(answered) => (Some(answered.status), means(answered)),
            Err((status, broken)) => (status, Err(broken)),
        };
        let class = result.as_ref().err().map(|broken| broken.failure.class);
        sent.ended(status, class);
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
        request: RequestBuilder,
    ) -> Result<Answered, (Option<StatusCode>, Broken)> {
        let dependency = &self.request.dependency;
        let broken = |error: reqwest::Error| {
            let connect = dependency.policy.timeout.connect;
            let failure = fault::failure(dependency.name.as_str(), connect, &error);
            Broken::silent(failure, &error)
        };
        let mut response = request
            .send()
            .await
            .map_err(|error| (None, broken(error)))?;
        let status = response.status();
        let body = match Body::read(&mut response).await {
            Ok(body) => body,
            Err(error) if status.is_success() => return Err((Some(status), broken(error))),
            Err(_) => Body::default(),
        };
        Ok(Answered {
            status,
            headers: std::mem::take(response.headers_mut()),
            body,
        })
    }
}
