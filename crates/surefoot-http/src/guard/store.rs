//! The store, with a limit on how long it may take. A call that hangs counts as unavailable: nobody knows whether it
//! took effect, and each of these may be repeated.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::{RequestWritten, Requests};
use surefoot_core::request::{Arrived, Identity, NewRequest, Request};
use surefoot_core::time::Timestamp;

use crate::observe::{DoorEvent, Watching};

/// How many times a call is tried while a client waits for it.
const TRIES_MAX: u32 = 3;

/// The pause after the first failure; it doubles with each.
const PAUSE: Duration = Duration::from_millis(25);

#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct NoAnswer(Duration);

/// Whether the store was given up on while it was at work: what it was told to do may still be done.
pub(super) fn is_no_answer(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(cause) if cause.is::<NoAnswer>())
}

pub(crate) struct BoundedRequests {
    inner: Arc<dyn Requests>,
    limit: Duration,
    watching: Watching,
}

impl BoundedRequests {
    pub(crate) fn new(inner: Arc<dyn Requests>, limit: Duration, watching: Watching) -> Self {
        Self {
            inner,
            limit,
            watching,
        }
    }

    /// What it bounds.
    pub(super) fn unbounded(&self) -> Arc<dyn Requests> {
        self.inner.clone()
    }

    /// Claims, up to [`TRIES_MAX`] times and within the limit in all: the same arrival repeated is answered the same.
    pub(super) async fn begin(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Arrived, StoreError> {
        self.tried("begin", || self.inner.begin(new, now)).await
    }

    /// Writes, as often: the same write repeated is answered the same.
    pub(super) async fn write(&self, request: &Request) -> Result<RequestWritten, StoreError> {
        self.tried("write_request", || self.inner.write_request(request))
            .await
    }

    /// Writes once.
    pub(crate) async fn write_once(&self, request: &Request) -> Result<RequestWritten, StoreError> {
        self.within("write_request", self.inner.write_request(request))
            .await
    }

    pub(super) async fn request(&self, identity: &Identity) -> Result<Option<Request>, StoreError> {
        self.within("request", self.inner.request(identity)).await
    }

    async fn tried<T, F>(&self, verb: &'static str, call: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let tries = async {
            let mut pause = PAUSE;
            for _ in 1..TRIES_MAX {
                match call().await {
                    Err(error) if error.is_transient() => {
                        self.failed(verb, &error);
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "the store did not answer"
                        );
                    }
                    answer => return answer,
                }
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            call().await
        };
        self.within(verb, tries).await
    }

    /// Waits for one call of the store, within the limit.
    pub(crate) async fn within<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = match tokio::time::timeout(self.limit, call).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::Unavailable(Box::new(NoAnswer(self.limit)))),
        };
        if let Err(error) = &answer {
            self.failed(verb, error);
        }
        answer
    }

    fn failed(&self, verb: &'static str, error: &StoreError) {
        self.watching.on(&DoorEvent::StoreError { verb, error });
    }
}
