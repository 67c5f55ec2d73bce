//! What a handler knows of the request that it carries out: who it is for, and the keys under which dependencies are to see
//! it. Those keys are ours, not the client's: the same on every run, another for each dependency, and readable back to
//! the request.

use std::sync::Arc;

use http::HeaderMap;
use surefoot_core::id::{DependencyName, Epoch, Tenant};
use surefoot_core::job::TraceContext;
use surefoot_core::request::{Request, RequestId, RequestKey};

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

    /// The key under which this dependency is to see what the request does there.
    #[must_use]
    pub fn key_for(&self, dependency: &DependencyName) -> String {
        self.0.id.downstream(dependency)
    }

    pub(crate) async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }
}

fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    let mut sent = headers.get_all("traceparent").iter();
    let value = sent.next().filter(|_| sent.next().is_none())?;
    TraceContext::parse(value.to_str().ok()?)
}
