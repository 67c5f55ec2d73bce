//! What the guard answers in its own name: RFC 9457 problem documents, each with a type of our own and the same word in
//! `Idempotency-Error`, so that a client can tell our 409 from the application's. It never shows a value that a client
//! sent, nor what a fault of the store says.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_TYPE, LINK, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Map, Value};

use crate::mark::{self, Status};

/// What is the same for every problem of one kind.
#[derive(Debug, PartialEq, Eq)]
pub struct ProblemKind {
    /// Its word, part of its type and the value of `Idempotency-Error`.
    pub slug: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// What it is called.
    pub title: &'static str,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $slug:literal, $status:ident, $title:literal;)*) => {
        $($(#[$doc])* pub static $name: ProblemKind = ProblemKind {
            slug: $slug,
            status: StatusCode::$status,
            title: $title,
        };)*

        /// Every kind.
        pub static ALL: &[&ProblemKind] = &[$(&$name),*];
    };
}

kinds! {
    /// The route needs a key.
    KEY_MISSING = "key-missing", BAD_REQUEST, "Idempotency-Key is missing";
    /// What was sent is no key.
    KEY_INVALID = "key-invalid", BAD_REQUEST, "Idempotency-Key is not valid";
    /// Whose request it is is not known.
    TENANT_UNKNOWN = "tenant-unknown", UNAUTHORIZED, "The tenant is not known";
    /// The key belongs to another request.
    KEY_REUSED = "key-reused", UNPROCESSABLE_ENTITY, "Idempotency-Key is already used";
    /// The request is being carried out.
    OUTSTANDING = "outstanding", CONFLICT, "A request is outstanding for this Idempotency-Key";
    /// It may have happened, and nobody knows yet.
    OUTCOME_UNKNOWN = "outcome-unknown", CONFLICT, "The outcome of the request is not known";
    /// It happened, and its answer was not kept.
    RESULT_NOT_KEPT = "result-not-kept", CONFLICT, "The request was carried out and its answer is not kept";
    /// It happened, and its answer is kept no longer.
    RESULT_EXPIRED = "result-expired", GONE, "The request was carried out and its answer is kept no longer";
    /// The body is larger than the route takes.
    BODY_TOO_LARGE = "body-too-large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// The body did not arrive in time.
    BODY_TIMEOUT = "body-timeout", REQUEST_TIMEOUT, "The body did not arrive in time";
    /// The body broke off.
    BODY_BROKEN = "body-broken", BAD_REQUEST, "The body broke off";
    /// A header about time or retries cannot be read.
    CONTEXT_MALFORMED = "context-malformed", BAD_REQUEST, "A header cannot be read";
    /// No time was left when the request arrived.
    DEADLINE_PASSED = "deadline-passed", GATEWAY_TIMEOUT, "The deadline has passed";
    /// The store does not answer, and nothing was run.
    STORE_UNAVAILABLE = "store-unavailable", SERVICE_UNAVAILABLE, "The request cannot be remembered, so it was not run";
    /// The handler did not commit: all of it was rolled back, and the same request may be sent again.
    ROLLED_BACK = "rolled-back", INTERNAL_SERVER_ERROR, "The request was rolled back";
    /// The service answered and nothing happened, so the answer is not kept and the key is free.
    NOTHING_HAPPENED = "nothing-happened", SERVICE_UNAVAILABLE, "Nothing happened, and the key is free";
    /// Too many requests are under way.
    TOO_BUSY = "too-busy", SERVICE_UNAVAILABLE, "Too many requests are under way";
    /// The service behind the proxy was not reached: nothing happened.
    UPSTREAM_UNREACHABLE = "upstream-unreachable", BAD_GATEWAY, "The service cannot be reached";
    /// The service behind the proxy broke off: it may have happened.
    UPSTREAM_BROKEN = "upstream-broken", BAD_GATEWAY, "The service broke off";
    /// The service behind the proxy did not answer in time: it may have happened.
    UPSTREAM_TIMEOUT = "upstream-timeout", GATEWAY_TIMEOUT, "The service did not answer in time";
    /// A tunnel was asked for by `CONNECT`, and the proxy opens none.
    TUNNEL_REFUSED = "tunnel-refused", NOT_IMPLEMENTED, "No tunnel is opened here";
    /// There is no such thing here.
    NOT_FOUND = "not-found", NOT_FOUND, "There is no such thing";
    /// A fault of the guard.
    INTERNAL = "internal", INTERNAL_SERVER_ERROR, "A fault of the guard";
}

/// Where problems are explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemTypes {
    /// What stands before the word of a kind in its `type`. Default `urn:surefoot:problem:`.
    pub base: String,
    /// The page that says how keys are to be used here; told as `Link: <..>; rel="describedby"`. Default: none.
    pub documentation: Option<HeaderValue>,
}

impl Default for ProblemTypes {
    fn default() -> Self {
        Self {
            base: "urn:surefoot:problem:".to_owned(),
            documentation: None,
        }
    }
}

impl ProblemTypes {
    /// Types under `base`, explained on the page `documentation`; `None` where that is no address.
    #[must_use]
    pub fn explained(base: impl Into<String>, documentation: &str) -> Option<Self> {
        let link = format!("<{documentation}>; rel=\"describedby\"");
        let fits = documentation
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"'));
        let link = HeaderValue::try_from(link).ok().filter(|_| fits)?;
        Some(Self {
            base: base.into(),
            documentation: Some(link),
        })
    }
}

/// One problem, on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    kind: &'static ProblemKind,
    detail: String,
    members: Map<String, Value>,
    retry_after: Option<Duration>,
}

impl Problem {
    pub(crate) fn new(kind: &'static ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            members: Map::new(),
            retry_after: None,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// When the client may come back; seconds, rounded up.
    pub(crate) const fn retry_after(mut self, after: Option<Duration>) -> Self {
        self.retry_after = after;
        self
    }

    /// The answer. `ran` says whether it is that of a run, or stands instead of one.
    pub(crate) fn response(self, types: &ProblemTypes, status: Option<Status>) -> Response<Body> {
        let mut document = self.members;
        document.insert(
            "type".to_owned(),
            format!("{}{}", types.base, self.kind.slug).into(),
        );
        document.insert("title".to_owned(), self.kind.title.into());
        document.insert("status".to_owned(), self.kind.status.as_u16().into());
        document.insert("detail".to_owned(), self.detail.into());
        let mut body = Value::Object(document).to_string();
        body.push('\n');
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.kind.status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(link) = &types.documentation {
            headers.insert(LINK, link.clone());
        }
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        mark::write(headers, status, Some(self.kind.slug));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_its_type_in_its_document_and_in_a_header() {
        let types =
            ProblemTypes::explained("https://api.example/problems/", "https://api.example/keys")
                .unwrap();
        let response = Problem::new(&OUTSTANDING, "wait")
            .retry_after(Some(Duration::from_millis(1200)))
            .response(&types, None);
        let headers = response.headers();
        assert_eq!(response.status(), 409);
        assert_eq!(headers["idempotency-error"], "outstanding");
        assert_eq!(headers["retry-after"], "2");
        assert_eq!(
            headers["link"],
            "<https://api.example/keys>; rel=\"describedby\""
        );
        assert_eq!(headers["content-type"], "application/problem+json");
        assert_eq!(ProblemTypes::explained("x", "a> b"), None);
    }

    #[test]
    fn no_two_kinds_share_a_word() {
        let mut slugs: Vec<_> = ALL.iter().map(|kind| kind.slug).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), ALL.len());
    }
}
