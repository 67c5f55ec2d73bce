//! What runs on this node at present: shared by the loop that settles, the heartbeat that extends and the client that
//! cancels. An entry stays until its settlement was answered, so that its lease is held that long.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot_core::id::{Epoch, JobId, Kind};
use surefoot_core::job::LeasedJob;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cx::CancelCause;

/// One attempt that runs here.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) job: JobId,
    pub(crate) epoch: Epoch,
    pub(crate) kind: Kind,
    /// How long an extension holds.
    pub(crate) lease: Duration,
    /// Until when the lease is extended at most: a handler that cannot be stopped does not hold its job for ever.
    pub(crate) hold_until: Instant,
    token: CancellationToken,
    stop: CancellationToken,
    cause: Mutex<Option<CancelCause>>,
    cancel_requested: AtomicBool,
    settling: AtomicBool,
    abandoned: AtomicBool,
}

impl Running {
    pub(crate) fn new(job: &LeasedJob, lease: Duration, hold_until: Instant) -> Self {
        Self {
            job: job.id,
            epoch: job.state.epoch,
            kind: job.kind.clone(),
            lease,
            hold_until,
            token: CancellationToken::new(),
            stop: CancellationToken::new(),
            cause: Mutex::new(None),
            cancel_requested: AtomicBool::new(job.state.cancel_requested),
            settling: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Tells the handler to stop. A request gives way to any other cause; of the others the first stands.
    pub(crate) fn cancel(&self, cause: CancelCause) {
        let requested = cause == CancelCause::Requested;
        if requested {
            self.cancel_requested.store(true, Ordering::Release);
        }
        {
            let mut present = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
            if matches!(*present, None | Some(CancelCause::Requested)) {
                *present = Some(cause);
            }
        }
        self.token.cancel();
        if !requested {
            self.stop.cancel();
        }
    }

    /// Cancelled when the handler should stop, for whatever cause.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Cancelled when the handler must stop: for any cause but a request.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    pub(crate) fn cause(&self) -> Option<CancelCause> {
        *self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_cancel_requested(&self) -> bool {
        self.cancel_requested.load(Ordering::Acquire)
    }

    /// From here on the store may have applied the settlement: a lease that is gone is no news.
    pub(crate) fn settles(&self) {
        self.settling.store(true, Ordering::Release);
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.settling.load(Ordering::Acquire)
    }

    /// Gives the lease up; answers whether it was held until now.
    pub(crate) fn abandon(&self) -> bool {
        !self.abandoned.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}

/// Every attempt that runs here; bounded by the engine's concurrency.
#[derive(Debug, Default)]
pub(crate) struct RunningSet(Mutex<HashMap<(JobId, Epoch), Arc<Running>>>);

impl RunningSet {
    fn with<T>(&self, visit: impl FnOnce(&mut HashMap<(JobId, Epoch), Arc<Running>>) -> T) -> T {
        visit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn insert(&self, running: Arc<Running>) {
        self.with(|all| all.insert((running.job, running.epoch), running));
    }

    pub(crate) fn remove(&self, job: JobId, epoch: Epoch) {
        self.with(|all| all.remove(&(job, epoch)));
    }

    pub(crate) fn get(&self, job: JobId, epoch: Epoch) -> Option<Arc<Running>> {
        self.with(|all| all.get(&(job, epoch)).cloned())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Running>> {
        self.with(|all| all.values().cloned().collect())
    }

    /// Tells every attempt of a job to stop.
    pub(crate) fn cancel_job(&self, job: JobId, cause: CancelCause) {
        for running in self.all().iter().filter(|running| running.job == job) {
            running.cancel(cause);
        }
    }

    /// Tells every attempt to stop.
    pub(crate) fn cancel_all(&self, cause: CancelCause) {
        for running in self.all() {
            running.cancel(cause);
        }
    }
}
