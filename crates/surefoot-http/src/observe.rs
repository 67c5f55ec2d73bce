//! One typed stream of everything that happens at the front door, for metrics and alerts. The guard counts nothing itself
//! and knows no metrics library. It never shows a key, a body or what a client sent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, StatusCode};
use surefoot_core::error::StoreError;
use surefoot_core::request::{End, Operation, RequestId};

use crate::mark::{IDEMPOTENCY_ERROR, IDEMPOTENCY_STATUS, Status};
use crate::problem::{ALL, ProblemKind};
use crate::reconcile::Round;

/// Something that happened. It borrows what it tells of, so that telling it costs nothing.
#[derive(Clone, Copy, Debug)]
pub enum DoorEvent<'a> {
    /// A request was answered, with a key or without one. A client that went away before is not among them.
    Answered {
        /// What was asked for; `None` where it has no name that could be kept. The route is a pattern of the service, the
        /// method is whatever a client sent.
        operation: Option<&'a Operation>,
        /// Whose answer it was.
        said: Said,
        /// Its status.
        status: StatusCode,
        /// From the arrival to the head of the answer.
        took: Duration,
    },
    /// A run ended, whether its client still waited or not.
    RunEnded {
        /// What was asked for.
        operation: &'a Operation,
        /// Which request.
        request: RequestId,
        /// How.
        end: &'a End,
        /// From the claim to the end, before it was written down.
        took: Duration,
    },
    /// A handler went on after its lease: its client was told that the outcome is unknown.
    LeaseLost {
        /// Which request.
        request: RequestId,
    },
    /// The end of a run could not be written down while its client waited; it is tried on.
    NotRecorded {
        /// Which request.
        request: RequestId,
    },
    /// The end of a run was given up after [`DoorEvent::NotRecorded`]: its outcome becomes unknown.
    RecordGivenUp {
        /// Which request.
        request: RequestId,
    },
    /// A run and a witness say different things: alert somebody.
    Disputed {
        /// Which request.
        request: RequestId,
    },
    /// A request ran without a claim, as its route waives, because the store was away.
    RanUnguarded {
        /// What was asked for.
        operation: &'a Operation,
    },
    /// A reconciler finished a round.
    Reconciled(&'a Round),
    /// A verb of the store failed; it may have been tried again.
    StoreError {
        /// Which verb.
        verb: &'static str,
        /// How.
        error: &'a StoreError,
    },
}

/// Whose answer a client got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The service's, and there was no key.
    Bare,
    /// The service's, with what became of the key.
    Service(Status),
    /// The service's, which could not be written down.
    NotRecorded,
    /// The guard's own.
    Guard(&'static ProblemKind),
}

impl Said {
    /// The word for it: `none`, that of the status, `not-recorded`, or that of the problem.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bare => "none",
            Self::Service(status) => status.as_str(),
            Self::NotRecorded => "not-recorded",
            Self::Guard(kind) => kind.slug,
        }
    }

    /// What the marks of an answer say.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(error) = text(IDEMPOTENCY_ERROR) {
            return ALL
                .iter()
                .find(|kind| kind.slug == error)
                .map_or(Self::NotRecorded, |kind| Self::Guard(kind));
        }
        text(IDEMPOTENCY_STATUS)
            .and_then(Status::parse)
            .map_or(Self::Bare, Self::Service)
    }
}

/// Sees everything that happens at the front door. It is called on the guard's own tasks: it must not block. Its panics
/// are caught and logged.
pub trait DoorObserver: Send + Sync + 'static {
    /// Takes note of something that happened.
    fn on(&self, event: &DoorEvent<'_>);
}

impl<T: DoorObserver + ?Sized> DoorObserver for Arc<T> {
    fn on(&self, event: &DoorEvent<'_>) {
        (**self).on(event);
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDoorObserver;

impl DoorObserver for NoDoorObserver {
    fn on(&self, _: &DoorEvent<'_>) {}
}

/// An observer whose panics end with it: a fault in somebody's metrics must not stop a request.
#[derive(Clone)]
pub(crate) struct Watching(Arc<dyn DoorObserver>);

impl Watching {
    pub(crate) fn new(observer: impl DoorObserver) -> Self {
        Self(Arc::new(observer))
    }

    pub(crate) fn on(&self, event: &DoorEvent<'_>) {
        if catch_unwind(AssertUnwindSafe(|| self.0.on(event))).is_err() {
            tracing::error!("the observer of the front door panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark;
    use crate::problem::OUTSTANDING;

    #[test]
    fn the_marks_say_whose_answer_it_is() {
        let table = [
            (None, None, Said::Bare),
            (
                Some(Status::Replayed),
                None,
                Said::Service(Status::Replayed),
            ),
            (None, Some(OUTSTANDING.slug), Said::Guard(&OUTSTANDING)),
            (
                Some(Status::Executed),
                Some(mark::NOT_RECORDED),
                Said::NotRecorded,
            ),
        ];
        for (status, error, expected) in table {
            let mut headers = HeaderMap::new();
            mark::write(&mut headers, status, error);
            assert_eq!(Said::of(&headers), expected);
        }
    }
}
