//! What a handler knows of the request that it carries out: who it is for, and the keys under which dependencies are to see
//! it. Those keys are ours, not the client's: the same on every run, another for each dependency, and readable back to
//! the request.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use surefoot::{Error, Intent};
use surefoot_core::id::{DependencyName, Epoch, Key, Kind, NameError, Tenant};
use surefoot_core::job::TraceContext;
use surefoot_core::request::{Operation, Request, RequestId, RequestKey, RequestState};
use surefoot_core::time::Timestamp;

use crate::mark::IDEMPOTENCY_KEY;

/// The trace of W3C's Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What a handler knows of the request that it carries out. It is among the extensions of the HTTP request, and in the
/// task that runs the handler.
#[derive(Clone, Debug)]
pub struct RequestContext(Arc<Known>);

#[derive(Debug)]
struct Known {
    id: RequestId,
    tenant: Tenant,
    key: RequestKey,
    epoch: Epoch,
    trace: Option<TraceContext>,
    wait: Option<Duration>,
    operation: Operation,
    since: Timestamp,
}

tokio::task_local! {
    static CURRENT: RequestContext;
}

impl RequestContext {
    pub(crate) fn new(request: &Request, headers: &HeaderMap) -> Self {
        Self(Arc::new(Known {
            id: request.id,
            tenant: request.identity.tenant.clone(),
            key: request.identity.key.clone(),
            epoch: request.epoch,
            trace: trace(headers),
            wait: crate::accept::preferred(headers),
            operation: request.operation.clone(),
            since: since(request),
        }))
    }

    /// That of the running task; `None` outside of a guarded request, and in a task that its handler spawned.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// The request's id.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.0.id
    }

    /// Whose request it is.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.0.tenant
    }

    /// What its client calls it.
    #[must_use]
    pub fn key(&self) -> &RequestKey {
        &self.0.key
    }

    /// The epoch of this run: higher than that of every earlier one.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.0.epoch
    }

    /// The trace that its caller began, where one was sent.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceContext> {
        self.0.trace.as_ref()
    }

    /// How long its client prefers to wait for the result, by `Prefer: wait=SECONDS` (RFC 7240); zero where it prefers to be told
    /// later (`respond-async`). It is a wish without a bound.
    #[must_use]
    pub fn preferred_wait(&self) -> Option<Duration> {
        self.0.wait
    }

    /// What was asked for.
    pub(crate) fn operation(&self) -> &Operation {
        &self.0.operation
    }

    /// When this run began.
    pub(crate) fn since(&self) -> Timestamp {
        self.0.since
    }

    /// The key under which this dependency is to see what the request does there.
    #[must_use]
    pub fn key_for(&self, dependency: &DependencyName) -> String {
        self.0.id.downstream(dependency)
    }

    /// Writes that key into the headers of a call to the dependency, and the caller's trace where none is set. One key for
    /// each thing that the request does there: for a second one name the dependency more finely, such as `psp.refund`.
    pub fn write(&self, dependency: &DependencyName, headers: &mut HeaderMap) {
        // An id and a name in quotes are always a value.
        if let Ok(key) = HeaderValue::try_from(format!("\"{}\"", self.key_for(dependency))) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if let Some(trace) = &self.0.trace
            && let Ok(trace) = HeaderValue::try_from(trace.as_str())
        {
            headers.entry(TRACEPARENT).or_insert(trace);
        }
    }

    /// The intent for this request's tenant, under a key of its own and with its caller's trace: one job of a kind for each
    /// request, however often the request runs.
    ///
    /// # Errors
    /// [`Error::Name`] for a kind that is no part of a key; none is known.
    pub fn intent(&self, intent: Intent) -> Result<Intent, Error> {
        let trace = intent.trace.clone().or_else(|| self.0.trace.clone());
        Ok(Intent {
            tenant: self.0.tenant.clone(),
            key: Some(job_key(self.0.id, &intent.kind)?),
            trace,
            ..intent
        })
    }

    pub(crate) async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }
}

/// The key of the job of this kind that a request becomes.
pub(crate) fn job_key(request: RequestId, kind: &Kind) -> Result<Key, NameError> {
    Key::new(request.downstream(&DependencyName::new(kind.as_str())?))
}

/// When its latest claim was made; a handler is only ever given one that is claimed.
fn since(request: &Request) -> Timestamp {
    match request.state {
        RequestState::Claimed { since, .. } => since,
        RequestState::Finished { .. }
        | RequestState::Unknown { .. }
        | RequestState::NeedsHuman { .. }
        | RequestState::Released { .. }
        | RequestState::Expired { .. } => request.claimed_at,
    }
}

fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    let mut sent = headers.get_all(TRACEPARENT).iter();
    let value = sent.next().filter(|_| sent.next().is_none())?;
    TraceContext::parse(value.to_str().ok()?)
}
