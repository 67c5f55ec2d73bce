//! How long what a run sends may leave: while its lease holds. It is looked at last, when the first byte is about to leave, for
//! a process can stand still at any moment before that, and others may run the request when it goes on.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use surefoot_core::time::{Clock, Timestamp};

use crate::guard::BoxError;

/// The end of a run's lease, as it is known on this node.
#[derive(Clone)]
pub(crate) struct Term {
    clock: Arc<dyn Clock>,
    /// In microseconds since the epoch.
    until: Arc<AtomicI64>,
}

/// What was to leave after the lease.
#[derive(Debug, thiserror::Error)]
#[error("the lease was over before the request was sent")]
struct Over;

tokio::task_local! {
    static CURRENT: Option<Term>;
}

impl Term {
    pub(crate) fn new(clock: Arc<dyn Clock>, until: Timestamp) -> Self {
        Self {
            clock,
            until: Arc::new(AtomicI64::new(until.as_micros())),
        }
    }

    pub(crate) fn extend(&self, until: Timestamp) {
        self.until.store(until.as_micros(), Ordering::Relaxed);
    }

    /// # Errors
    /// It is over.
    pub(crate) fn check(&self) -> Result<(), BoxError> {
        let is_over = self.until.load(Ordering::Relaxed) <= self.clock.now().as_micros();
        if is_over { Err(Box::new(Over)) } else { Ok(()) }
    }

    /// Work that is bound to this term, where there is one.
    pub(crate) async fn scope<F: Future>(term: Option<Self>, work: F) -> F::Output {
        CURRENT.scope(term, work).await
    }

    /// That of the work in this task.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok().flatten()
    }

    /// The same body, which fails when it is to leave after the term; the head leaves with its first part. An empty one is not
    /// asked for, so its head leaves as soon as there is a connection.
    pub(crate) fn bind(self, body: Body) -> Body {
        Body::new(WithinTerm {
            body,
            term: Some(self),
        })
    }
}

struct WithinTerm {
    body: Body,
    /// `None` once the first part has left.
    term: Option<Term>,
}

impl http_body::Body for WithinTerm {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(Err(over)) = self.term.take().map(|term| term.check()) {
            return Poll::Ready(Some(Err(over)));
        }
        Pin::new(&mut self.body)
            .poll_frame(cx)
            .map_err(BoxError::from)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
