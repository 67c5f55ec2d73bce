//! Tells other nodes about new work, beside the enqueue and never inside its commit: a notification in each
//! transaction takes a lock over the whole database. The first announcement leaves at once, further ones are gathered
//! for a few milliseconds. A lost announcement costs a poll interval, nothing more.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot_core::id::Queue;
use surefoot_core::port::Store;
use tokio::sync::Notify;

/// How long announcements are gathered after one has left.
const GAP: Duration = Duration::from_millis(5);
/// The most queues that wait to be announced; those beyond are found by polling.
const QUEUES_MAX: usize = 1000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Announcer {
    state: Mutex<State>,
    idle: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeSet<Queue>,
    at_work: bool,
}

impl Announcer {
    fn with<T>(&self, visit: impl FnOnce(&mut State) -> T) -> T {
        visit(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Announces that `queues` have work, some time soon. Must be called inside a runtime.
    pub(crate) fn announce<'a>(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        queues: impl Iterator<Item = &'a Queue>,
    ) {
        let begin = self.with(|state| {
            for queue in queues {
                if state.waiting.len() < QUEUES_MAX && !state.waiting.contains(queue) {
                    state.waiting.insert(queue.clone());
                }
            }
            !state.waiting.is_empty() && !std::mem::replace(&mut state.at_work, true)
        });
        if begin {
            let (announcer, store) = (Arc::clone(self), Arc::clone(store));
            tokio::spawn(async move { announcer.work(&*store).await });
        }
    }

    async fn work(&self, store: &dyn Store) {
        loop {
            let queues: Vec<Queue> = self.with(|state| {
                let queues = std::mem::take(&mut state.waiting);
                state.at_work = !queues.is_empty();
                queues.into_iter().collect()
            });
            if queues.is_empty() {
                self.idle.notify_waiters();
                return;
            }
            // The bounded store reports a failure to the observer; polling makes up for it.
            let _ = store.announce(&queues).await;
            tokio::time::sleep(GAP).await;
        }
    }

    /// Waits until everything was announced.
    pub(crate) async fn flush(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if !self.with(|state| state.at_work) {
                return;
            }
            idle.await;
        }
    }
}
