//! What is known about HTTP requests: which methods may be repeated, what a status means, and what goes along in
//! headers. Each attempt gets its own copy of the request, so that headers do not pile up.

use std::time::{Duration, UNIX_EPOCH};

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, Method, Request, Response};
use surefoot_core::retry_after;
use surefoot_core::time::Timestamp;

use super::Plan;
use crate::dependency::Attempt;
use crate::meaning::Meaning;
use crate::meta::Meta;

/// The header that makes a request recognisable.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A body that can perhaps be sent once more.
pub trait Replay: Sized {
    /// The same body; `None` when it can be read only once.
    fn again(&self) -> Option<Self>;
}

macro_rules! replayed_by_clone {
    ($($body:ty),*) => {
        $(impl Replay for $body {
            fn again(&self) -> Option<Self> {
                Some(self.clone())
            }
        })*
    };
}

replayed_by_clone!((), String, Vec<u8>, &'static str);

#[cfg(feature = "http-client")]
replayed_by_clone!(
    bytes::Bytes,
    http_body_util::Full<bytes::Bytes>,
    http_body_util::Empty<bytes::Bytes>
);

/// The plan for HTTP requests. One that may have been applied is sent again when its method is idempotent (RFC 9110 section
/// 9.2.2). That a request carries an `Idempotency-Key` does not make it repeatable: a provider may keep the key only to be
/// asked about it. Who knows that it takes effect once under one key says so by [`deduplicating`](Self::deduplicating).
#[derive(Clone, Copy, Debug, Default)]
pub struct HttpPlan {
    deduplicates: bool,
}

impl HttpPlan {
    /// The plan for a service of which nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            deduplicates: false,
        }
    }

    /// The plan for a service that takes effect once for all requests under one `Idempotency-Key`, for as long as the calls
    /// last: a request that carries one may be repeated.
    #[must_use]
    pub const fn deduplicating() -> Self {
        Self { deduplicates: true }
    }

    /// What an answer means that is a failure: by its status and its `Retry-After`.
    #[must_use]
    pub fn meaning<B>(answer: &Response<B>, keyed: bool) -> Option<Meaning> {
        Meaning::of_status(
            answer.status().as_u16(),
            keyed,
            retry_after(answer.headers()),
        )
    }
}

impl<B, A, E> Plan<Request<B>, Response<A>, E> for HttpPlan
where
    B: Replay,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + std::error::Error + 'static,
{
    fn meta(&self, request: &Request<B>) -> Meta<'static> {
        let method = request.method();
        let idempotent = method.is_idempotent() || *method == Method::TRACE;
        let honoured = self.deduplicates && request.headers().contains_key(IDEMPOTENCY_KEY);
        let key = honoured.then_some("idempotency-key");
        Meta {
            idempotent,
            key,
            ..Meta::once_only()
        }
    }

    fn again(&self, request: &Request<B>) -> Option<Request<B>> {
        let body = request.body().again()?;
        let mut copy = Request::new(body);
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.version_mut() = request.version();
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        Some(copy)
    }

    fn prepare(&self, attempt: &Attempt<'_>, request: &mut Request<B>) -> bool {
        attempt.write_headers(request.headers_mut())
    }

    fn answer(&self, answer: &Response<A>, meta: &Meta<'_>) -> Option<Meaning> {
        Self::meaning(answer, meta.key.is_some())
    }

    fn error(&self, error: &E) -> Meaning {
        meaning_of(error)
    }
}

/// What an error of an HTTP client means.
pub(crate) fn meaning_of(error: &(dyn std::error::Error + 'static)) -> Meaning {
    #[cfg(feature = "http-client")]
    if let Some(meaning) = crate::http_client::meaning_of_hyper(error) {
        return meaning;
    }
    Meaning::of_chain(error)
}

/// The wait that an answer asks for. A date is taken relative to the answer's own `Date`, so that the clocks of
/// the two hosts need not agree; without one, relative to ours.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    // A date is read as the wait from 1970 on.
    let sent = date
        .and_then(|date| retry_after::parse(date, Timestamp::MIN))
        .filter(|_| !is_number(date));
    let now = sent.map_or_else(wall_clock, |since| Timestamp::MIN.after(since));
    retry_after::parse(value, now)
}

fn is_number(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The only place that asks for the date: an HTTP date cannot be read otherwise.
fn wall_clock() -> Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::MIN.after(since)
}
