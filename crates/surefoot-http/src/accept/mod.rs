//! Answering 202: the request becomes a job under its own key, and its client is told where to look. A request that is sent
//! again finds the same job; it never makes a second one, whatever was lost in between.

mod document;
mod look;
mod lookup;
mod wait;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse;
use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use surefoot::{Client, Error, Intent};
use surefoot_core::id::{JobId, Kind};
use surefoot_core::port::{Enqueued, NewJob};
use tokio::sync::Semaphore;

use crate::context::RequestContext;
use crate::guard::Guard;
use crate::told::Told;

pub use lookup::JobLookup;
pub(crate) use wait::preferred;
pub use wait::{ACCEPT_WAIT_MAX, WAITS_MAX, Wait};

/// How many event streams of one [`Accept`] are open at once; further ones are refused.
pub const STREAMS_MAX: usize = 256;

/// The seconds after which a client may look again.
const LOOK_AGAIN: HeaderValue = HeaderValue::from_static("2");

/// Requests that are answered with 202 and carried out as jobs of one kind.
///
/// ```no_run
/// use axum::{Extension, Json, Router, extract::State, response::Response, routing::post};
/// use surefoot::{Client, Intent, Job};
/// use surefoot_core::id::Kind;
/// use surefoot_http::{Accept, AcceptRefused, Guard, IdempotencyLayer, RequestContext};
///
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Essay { text: String }
/// # impl Job for Essay { const KIND: &'static str = "essay.grade"; type Output = u8; }
/// async fn grade(
///     State(accept): State<Accept>,
///     Extension(request): Extension<RequestContext>,
///     Json(essay): Json<Essay>,
/// ) -> Result<Response, AcceptRefused> {
///     accept.accept(&request, Intent::of(&essay)?).await
/// }
///
/// # fn example(guard: Guard, client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let accept = Accept::new(guard.clone(), client, Kind::new(Essay::KIND)?, "/grades")?;
/// let app: Router = Router::new()
///     .route("/grades", post(grade))
///     .layer(IdempotencyLayer::new(guard))
///     .with_state(accept.clone())
///     .merge(accept.routes()); // GET /grades/{id} and GET /grades/{id}/events
/// # drop(app); Ok(()) }
/// ```
///
/// The client polls `GET {path}/{id}` or reads `GET {path}/{id}/events`, both for its own tenant only. A node that died between
/// the two commits is answered for by the job itself: [`reconcile`](Self::reconcile) looks for it.
#[derive(Clone)]
pub struct Accept {
    inner: Arc<Inner>,
    wait: Wait,
}

struct Inner {
    guard: Guard,
    client: Client,
    kind: Kind,
    path: String,
    streams: Arc<Semaphore>,
    waits: Semaphore,
    /// Whether it was said that a route's runs end before the longest wait.
    told_short: AtomicBool,
}

/// Requests that cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptRefused {
    /// The path cannot be one of a router.
    #[error(
        "the path {0:?} is not usable; write it as /grades, without parameters and without / at its end"
    )]
    Path(String),
    /// The wait contradicts itself, or what the routes allow.
    #[error("{0}")]
    Wait(String),
    /// Jobs are not kept for long enough to say what became of a request.
    #[error(
        "finished jobs are kept for {jobs_kept:?} and what a request does is settled after {settled_after:?}, so a job that is \
         not found could always be one that was done and dropped; raise the engine's keep"
    )]
    JobsKept {
        /// How long jobs are kept after they ended.
        jobs_kept: Duration,
        /// The longest run and what it may still do after it, on the route where that is shortest.
        settled_after: Duration,
    },
    /// The intent is of another kind.
    #[error("the intent is a {found}, and {expected} is accepted here")]
    Kind {
        /// The kind of the intent.
        found: Kind,
        /// The kind that is accepted.
        expected: Kind,
    },
    /// The job could not be handed in.
    #[error(transparent)]
    Job(#[from] Error),
}

impl std::fmt::Debug for Accept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accept")
            .field("kind", &self.inner.kind)
            .field("path", &self.inner.path)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}

impl Accept {
    /// Requests that become jobs of `kind`, which are looked at under `path`.
    ///
    /// # Errors
    /// [`AcceptRefused::Path`].
    pub fn new(
        guard: Guard,
        client: Client,
        kind: Kind,
        path: &str,
    ) -> Result<Self, AcceptRefused> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        let is_path = path.starts_with('/') && !path.ends_with('/') && path.bytes().all(plain);
        if !is_path || path.contains("//") || path.len() > 255 {
            return Err(AcceptRefused::Path(path.to_owned()));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                guard,
                client,
                kind,
                path: path.to_owned(),
                streams: Arc::new(Semaphore::new(STREAMS_MAX)),
                waits: Semaphore::new(WAITS_MAX),
                told_short: AtomicBool::new(false),
            }),
            wait: Wait::default(),
        })
    }

    /// Hands `intent` in under the request's key and tenant, with its trace, and answers 202 with the job's `Location`. The
    /// same request finds the same job. Where it [waits](Self::waiting) and the job succeeds in time, the answer is 200 with the
    /// document that `GET {path}/{id}` gives.
    ///
    /// # Errors
    /// An intent of another kind, and what [`Client::enqueue`] answers; as a response 503 where it may pass, else 500. After an
    /// unavailable store nobody knows whether the job is there: the response says so to the guard, which asks.
    pub async fn accept(
        &self,
        request: &RequestContext,
        intent: Intent,
    ) -> Result<Response<Body>, AcceptRefused> {
        let intent = self.of_request(request, intent)?;
        let job = match self.inner.client.enqueue(intent).await? {
            // Its key is the request's alone: a payload that differs is that of a handler which changed since.
            Enqueued::Created(job) | Enqueued::Existing(job) | Enqueued::Conflict(job) => job,
        };
        let done = self.done(job, request).await;
        let shown = done.and_then(|record| look::shown(&record).ok());
        Ok(match shown {
            Some(shown) => self.located(shown, job),
            None => self.accepted(job),
        })
    }

    /// The job of `intent` for the handler's own transaction: write it by `enqueue_in` of the store, and commit with
    /// [`accepted`](Self::accepted).
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub async fn draft(
        &self,
        request: &RequestContext,
        intent: Intent,
    ) -> Result<NewJob, AcceptRefused> {
        let intent = self.of_request(request, intent)?;
        Ok(self.inner.client.draft(intent).await?)
    }

    /// 202 with the `Location` of a job.
    #[must_use]
    pub fn accepted(&self, job: JobId) -> Response<Body> {
        let location = format!("{}/{job}", self.inner.path);
        let body = document::accepted(job, &location);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::ACCEPTED;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(RETRY_AFTER, LOOK_AGAIN);
        self.located(response, job)
    }

    /// The response with the place of a job.
    fn located(&self, mut response: Response<Body>, job: JobId) -> Response<Body> {
        // The path was checked, and an id is plain.
        if let Ok(location) = HeaderValue::try_from(format!("{}/{job}", self.inner.path)) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }

    fn of_request(
        &self,
        request: &RequestContext,
        intent: Intent,
    ) -> Result<Intent, AcceptRefused> {
        if intent.kind != self.inner.kind {
            return Err(AcceptRefused::Kind {
                found: intent.kind,
                expected: self.inner.kind.clone(),
            });
        }
        Ok(request.intent(intent)?)
    }
}

impl IntoResponse for AcceptRefused {
    /// A handler that passes it on by `?` is answered for: what nobody knows is told to the guard as unknown, what was not
    /// written as not begun.
    fn into_response(self) -> Response<Body> {
        let is_unknown = matches!(&self, Self::Job(error) if error.is_transient());
        tracing::error!(
            error = &self as &dyn std::error::Error,
            "a request did not become a job"
        );
        let (status, told) = if is_unknown {
            let told = Told::Unknown("its job may be there, and the store did not say".to_owned());
            (StatusCode::SERVICE_UNAVAILABLE, told)
        } else {
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                Told::NotBegun(self.to_string()),
            )
        };
        let mut response = status.into_response();
        response.extensions_mut().insert(told);
        response
    }
}
