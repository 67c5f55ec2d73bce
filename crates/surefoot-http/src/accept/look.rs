//! Looking at the job that a request became: by polling, and as a stream of server-sent events. A job of another tenant or
//! kind is not there.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use futures_util::StreamExt;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Response};
use surefoot_core::id::JobId;
use surefoot_core::port::JobRecord;

use super::document::Document;
use super::{Accept, LOOK_AGAIN};
use crate::problem::{INTERNAL, NOT_FOUND, Problem, STORE_UNAVAILABLE, TENANT_UNKNOWN, TOO_BUSY};

/// How often a stream says that it is alive while the job does not change.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a stream lasts at most; the reader comes back by itself.
const STREAM_MAX: Duration = Duration::from_secs(60 * 60);

/// When a client may come back that found too many streams open, or the store away.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

impl Accept {
    /// `GET {path}/{id}`: the job as it is, with its result once it succeeded, and `Retry-After` until it is settled.
    /// `GET {path}/{id}/events`: the same as events called `job`, at once and each time it changed, until it is settled.
    pub fn routes<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let path = &self.inner.path;
        Router::new()
            .route(&format!("{path}/{{id}}"), get(look))
            .route(&format!("{path}/{{id}}/events"), get(events))
            .with_state(self.clone())
    }

    /// The job of a path, where it is this tenant's.
    async fn job(&self, head: &Parts) -> Result<JobRecord, Problem> {
        let guard = &self.inner.guard;
        let tenant = guard.tenant(head);
        let tenant =
            tenant.map_err(|refused| Problem::new(&TENANT_UNKNOWN, refused.to_string()))?;
        let no_job = || Problem::new(&NOT_FOUND, "there is no such job here");
        let rest = head.uri.path().strip_prefix(&self.inner.path);
        let id = rest.and_then(|rest| rest.strip_prefix('/'));
        let id = id.and_then(|rest| rest.split('/').next());
        let id: JobId = id.and_then(|id| id.parse().ok()).ok_or_else(no_job)?;
        let found = self.inner.client.job(id).await.map_err(|error| {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a job could not be read"
            );
            Problem::new(&STORE_UNAVAILABLE, "look again soon").retry_after(Some(BUSY_RETRY_AFTER))
        })?;
        let is_its =
            |record: &JobRecord| record.job.tenant == tenant && record.job.kind == self.inner.kind;
        found.filter(is_its).ok_or_else(no_job)
    }

    fn refuse(&self, problem: Problem) -> Response<Body> {
        problem.response(self.inner.guard.problems(), None)
    }
}

async fn look(State(accept): State<Accept>, request: Request) -> Response<Body> {
    let (head, _) = request.into_parts();
    let record = match accept.job(&head).await {
        Ok(record) => record,
        Err(problem) => return accept.refuse(problem),
    };
    shown(&record)
        .unwrap_or_else(|_| accept.refuse(Problem::new(&INTERNAL, "the job cannot be shown")))
}

/// A job as its client reads it.
pub(super) fn shown(record: &JobRecord) -> Result<Response<Body>, serde_json::Error> {
    let mut body = serde_json::to_string(&Document::of(record))?;
    body.push('\n');
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !record.job.state.name().is_settled() {
        headers.insert(RETRY_AFTER, LOOK_AGAIN);
    }
    Ok(response)
}

async fn events(State(accept): State<Accept>, request: Request) -> Response<Body> {
    let (head, _) = request.into_parts();
    let Ok(slot) = accept.inner.streams.clone().try_acquire_owned() else {
        let busy = Problem::new(
            &TOO_BUSY,
            "too many event streams are open; look at the status",
        );
        return accept.refuse(busy.retry_after(Some(BUSY_RETRY_AFTER)));
    };
    let first = match accept.job(&head).await {
        Ok(record) => record,
        Err(problem) => return accept.refuse(problem),
    };
    let records = accept
        .inner
        .client
        .follow(first, tokio::time::sleep(STREAM_MAX));
    let events = records.filter_map(move |record| {
        // The slot is held for as long as the stream is.
        let _held = &slot;
        std::future::ready(event(record))
    });
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("alive");
    let stream = Sse::new(events).keep_alive(keep_alive);
    ([(CACHE_CONTROL, "no-store")], stream).into_response()
}

fn event(
    record: Result<Box<JobRecord>, surefoot_core::error::StoreError>,
) -> Option<Result<Event, Infallible>> {
    match record {
        Ok(record) => {
            let data = serde_json::to_string(&Document::of(&record)).ok()?;
            Some(Ok(Event::default().event("job").data(data)))
        }
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "an event stream ends"
            );
            None
        }
    }
}
