//! A problem as it is made, and as it is written. It holds nothing that a caller must not see: causes go to the log.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CONTENT_LENGTH, CONTENT_TYPE as CONTENT_TYPE_HEADER, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use surefoot_core::id::JobId;
use utoipa::ToSchema;

use super::kind::ProblemKind;

/// The media type of a problem document.
pub(crate) const CONTENT_TYPE: &str = "application/problem+json";

/// When a caller may come back after a 503: after this many seconds.
const RETRY_AFTER_SECONDS: &str = "1";

/// One problem, on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    kind: &'static ProblemKind,
    detail: String,
    members: Members,
    /// When the caller may come back, in seconds; a 503 has a time of its own.
    retry_after: Option<u64>,
}

/// What a program may want to read from a problem besides its type.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
struct Members {
    /// The field or parameter that is at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// The job that is meant: under `key-conflict` the one that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// The state that the job or delivery is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

/// A problem document of RFC 9457.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDocument {
    /// What kind of problem it is, such as `/problems/stale-epoch`; the server explains it there.
    #[serde(rename = "type")]
    #[schema(example = "/problems/stale-epoch")]
    kind: String,
    /// The same words for every problem of the type.
    title: &'static str,
    /// The HTTP status.
    #[schema(example = 409)]
    status: u16,
    /// What happened here.
    detail: String,
    /// The path of the request.
    instance: String,
    /// What the reader can do.
    remedy: &'static str,
    #[serde(flatten)]
    members: Members,
}

impl Problem {
    pub(crate) fn new(kind: &'static ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            members: Members::default(),
            retry_after: None,
        }
    }

    pub(crate) fn with_field(mut self, field: impl Into<Option<String>>) -> Self {
        self.members.field = field.into();
        self
    }

    pub(crate) fn with_job(mut self, job: JobId) -> Self {
        self.members.job = Some(job.to_string());
        self
    }

    pub(crate) const fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(crate) fn with_state(mut self, state: &'static str) -> Self {
        self.members.state = Some(state);
        self
    }

    #[cfg(test)]
    pub(super) fn kind(&self) -> &'static ProblemKind {
        self.kind
    }

    fn document(self, instance: String) -> ProblemDocument {
        ProblemDocument {
            kind: self.kind.uri(),
            title: self.kind.title,
            status: self.kind.status.as_u16(),
            detail: self.detail,
            instance,
            remedy: self.kind.remedy,
            members: self.members,
        }
    }
}

impl IntoResponse for Problem {
    /// Status and headers; [`render`] writes the document, for only it knows the request.
    fn into_response(self) -> Response {
        let mut response = self.kind.status.into_response();
        match self.kind.status {
            StatusCode::UNAUTHORIZED => {
                let challenge = HeaderValue::from_static("Bearer realm=\"surefoot\"");
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                response
                    .headers_mut()
                    .insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
            }
            _ => {}
        }
        if let Some(seconds) = self.retry_after {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// The outermost layer: writes the document of the problem that a route, a layer or a fallback answered with.
pub(crate) async fn render(request: Request, next: Next) -> Response {
    let instance = request.uri().path().to_owned();
    let mut response = next.run(request).await;
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    let mut document = serde_json::to_vec(&problem.document(instance)).unwrap_or_default();
    // For those who read it in a terminal.
    document.push(b'\n');
    response.headers_mut().remove(CONTENT_LENGTH);
    response
        .headers_mut()
        .insert(CONTENT_TYPE_HEADER, HeaderValue::from_static(CONTENT_TYPE));
    *response.body_mut() = Body::from(document);
    response
}
