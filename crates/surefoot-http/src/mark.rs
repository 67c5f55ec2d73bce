//! The headers by which a client tells what the guard did from what the application says. They are the guard's alone:
//! what an application wrote there is taken away.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The key of a request.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What became of the key. A page of another origin sees it where CORS exposes it.
pub const IDEMPOTENCY_STATUS: HeaderName = HeaderName::from_static("idempotency-status");

/// The word of the guard's own problem, where the answer is not the application's, or could not be kept.
pub const IDEMPOTENCY_ERROR: HeaderName = HeaderName::from_static("idempotency-error");

/// `Idempotency-Error` of an answer that is the application's and could not be written down: a repetition gets another one.
pub const NOT_RECORDED: &str = "not-recorded";

/// What became of the key of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `executed`: the request was run for this answer.
    Executed,
    /// `replayed`: the answer of an earlier run.
    Replayed,
    /// `ignored`: the request was run as if it carried no key.
    Ignored,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Executed, Self::Replayed, Self::Ignored];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Replayed => "replayed",
            Self::Ignored => "ignored",
        }
    }

    /// The status with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// Writes both marks over whatever stood there.
pub(crate) fn write(headers: &mut HeaderMap, status: Option<Status>, error: Option<&'static str>) {
    set(headers, IDEMPOTENCY_STATUS, status.map(Status::as_str));
    set(headers, IDEMPOTENCY_ERROR, error);
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: Option<&'static str>) {
    match value {
        Some(value) => {
            headers.insert(name, HeaderValue::from_static(value));
        }
        None => {
            headers.remove(name);
        }
    }
}
