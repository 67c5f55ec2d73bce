//! What a client and the engine in the same process tell one another without going through the store: there is work,
//! a job changed, stop this attempt. Losing any of it costs time, never correctness: polling finds the rest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use surefoot_core::id::JobId;
use tokio::sync::Notify;

use crate::running::RunningSet;

/// Signals inside one process.
#[derive(Debug, Default)]
pub(crate) struct Local {
    /// There may be something to claim.
    pub(crate) work: Notify,
    /// What runs here.
    pub(crate) running: RunningSet,
    watched: Watched,
    told: Told,
}

impl Local {
    /// Waits until nobody else in this process tells of this job for its pull worker: what one of them reads of its effects
    /// must still hold when it writes by it.
    pub(crate) async fn tells(&self, job: JobId) -> tokio::sync::MutexGuard<'_, ()> {
        let place = job.as_uuid().as_u128() % Told::PLACES as u128;
        self.told.0[usize::try_from(place).unwrap_or_default()]
            .lock()
            .await
    }

    /// Says that a job changed; wakes those who watch it.
    pub(crate) fn changed(&self, job: JobId) {
        self.watched.with(|all| {
            if let Some(watch) = all.get(&job) {
                watch.notify.notify_waiters();
            }
        });
    }

    /// Watches a job until the guard is dropped.
    pub(crate) fn watch(self: &Arc<Self>, job: JobId) -> Watching {
        let notify = self.watched.with(|all| {
            let watch = all.entry(job).or_default();
            watch.watchers += 1;
            Arc::clone(&watch.notify)
        });
        Watching {
            local: Arc::clone(self),
            job,
            notify,
        }
    }
}

/// Who tells of a job at present; jobs share places, so that there is a bound.
#[derive(Debug)]
struct Told([tokio::sync::Mutex<()>; Self::PLACES]);

impl Told {
    const PLACES: usize = 256;
}

impl Default for Told {
    fn default() -> Self {
        Self(std::array::from_fn(|_| tokio::sync::Mutex::new(())))
    }
}

/// The jobs that somebody waits for in this process; as many as there are waiters.
#[derive(Debug, Default)]
struct Watched(Mutex<HashMap<JobId, Watch>>);

#[derive(Debug, Default)]
struct Watch {
    watchers: usize,
    notify: Arc<Notify>,
}

impl Watched {
    fn with<T>(&self, visit: impl FnOnce(&mut HashMap<JobId, Watch>) -> T) -> T {
        visit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Somebody waits for a job.
pub(crate) struct Watching {
    local: Arc<Local>,
    job: JobId,
    /// Notified with each local change of the job.
    pub(crate) notify: Arc<Notify>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.local.watched.with(|all| {
            if let Some(watch) = all.get_mut(&self.job) {
                watch.watchers -= 1;
                if watch.watchers == 0 {
                    all.remove(&self.job);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use surefoot_core::time::Timestamp;

    #[tokio::test]
    async fn a_watch_is_woken_and_leaves_nothing_behind() {
        let local = Arc::new(Local::default());
        let job = JobId::new(Timestamp::MIN, [1; 10]);
        let (one, two) = (local.watch(job), local.watch(job));
        {
            let woken = one.notify.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            local.changed(job);
            woken.await;
        }
        drop(one);
        assert_eq!(local.watched.with(|all| all.len()), 1);
        drop(two);
        assert_eq!(local.watched.with(|all| all.len()), 0);
    }
}
