//! Who is asked what became of a request. It answers a question; it never runs a request and never writes one down.

use std::sync::Arc;

use async_trait::async_trait;
use surefoot_core::request::{Request, RequestVerdict};

/// Asks what became of a request.
#[async_trait]
pub trait Reconcile: Send + Sync + 'static {
    /// What became of it. Ask where it would have left a trace, under the keys that
    /// [`RequestId::downstream`](surefoot_core::request::RequestId::downstream) makes. Only who can rule out that it happened
    /// says that it did not; a fault while asking is [`RequestVerdict::StillUnknown`], and so is a panic, or no answer within
    /// [`ask_timeout`](super::ReconcilerOptions::ask_timeout). It must not block its thread.
    async fn ask(&self, request: &Request) -> RequestVerdict;
}

#[async_trait]
impl<T: Reconcile + ?Sized> Reconcile for Arc<T> {
    async fn ask(&self, request: &Request) -> RequestVerdict {
        (**self).ask(request).await
    }
}

/// Where nobody can be asked: a person decides.
#[derive(Clone, Copy, Debug)]
pub struct AskNobody;

#[async_trait]
impl Reconcile for AskNobody {
    async fn ask(&self, _: &Request) -> RequestVerdict {
        RequestVerdict::NeedsHuman("nobody can be asked what became of it".into())
    }
}
