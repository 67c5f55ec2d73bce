//! A relay that runs: woken, asked to append, and drained.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::message::Message;
use surefoot_core::port::{Appended, Messages};
use surefoot_core::time::Clock;
use tokio::sync::{Mutex, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, timeout_at};

use super::builder::RelayBuilder;
use super::options::RelayOptions;
use super::run::{Line, run};
use super::upkeep::Upkeep;
use crate::bounded::within;

/// Delivers the messages of the outbox in this process; cheap to clone. Any number of relays may run over one database: under
/// one key, one of them delivers at a time.
///
/// Dropping the last clone without [`drain`](Self::drain) stops everything in the middle, as a crash would: what was under
/// way is delivered again when its lease ends.
#[derive(Clone)]
pub struct Relay {
    inner: Arc<Inner>,
}

struct Inner {
    messages: Arc<dyn Messages>,
    options: RelayOptions,
    wakes: watch::Sender<u64>,
    draining: watch::Sender<bool>,
    loops: Mutex<Vec<JoinHandle<()>>>,
    aborts: Vec<AbortHandle>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Inner {
    fn abort(&self) {
        for task in &self.aborts {
            task.abort();
        }
    }
}

/// What a drain left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayDrained {
    /// Sinks with deliveries that did not end within the grace: they are delivered again when their leases end.
    pub abandoned: usize,
}

impl Relay {
    /// A relay over a store, to be told its sinks. `clock` is one that follows the store's
    /// ([`NodeClock`](crate::NodeClock)).
    #[must_use]
    pub fn over(messages: Arc<dyn Messages>, clock: Arc<dyn Clock>) -> RelayBuilder {
        RelayBuilder::over(messages, clock)
    }

    pub(super) fn launch(
        messages: Arc<dyn Messages>,
        options: RelayOptions,
        lines: Vec<Arc<Line>>,
        upkeep: Upkeep,
        wakes: watch::Sender<u64>,
        draining: watch::Sender<bool>,
    ) -> Self {
        let loops: Vec<_> = lines
            .into_iter()
            .map(|line| tokio::spawn(run(line)))
            .collect();
        let mut aborts: Vec<_> = loops.iter().map(JoinHandle::abort_handle).collect();
        aborts.push(tokio::spawn(upkeep.run()).abort_handle());
        Self {
            inner: Arc::new(Inner {
                messages,
                options,
                wakes,
                draining,
                loops: Mutex::new(loops),
                aborts,
            }),
        }
    }

    /// Says that there may be something to deliver: after the commit of a transaction that appended. Without it, the next
    /// poll finds it.
    pub fn wake(&self) {
        self.inner
            .wakes
            .send_modify(|wakes| *wakes = wakes.wrapping_add(1));
    }

    /// Appends messages in a transaction of their own, and delivers them at once. Where rows of the same database belong to
    /// them, append in their transaction instead (`append_in` of the stores), and [`wake`](Self::wake) after its commit.
    ///
    /// # Errors
    /// As [`Messages::append`]; after [`StoreError::Unavailable`], repeat the call with the same messages.
    pub async fn append(&self, messages: &[Message]) -> Result<Vec<Appended>, StoreError> {
        let appending = self.inner.messages.append(messages);
        let appended = within(self.inner.options.store_timeout, appending).await?;
        self.wake();
        Ok(appended)
    }

    /// Takes nothing more, lets the deliveries that are under way end within the grace, gives back the rest, and ends the
    /// loops. A further call waits for the same end, and answers that nothing was left.
    pub async fn drain(&self) -> RelayDrained {
        self.inner.draining.send_replace(true);
        let until = Instant::now() + self.inner.options.drain_grace;
        let mut loops = self.inner.loops.lock().await;
        let mut drained = RelayDrained::default();
        for mut task in loops.drain(..) {
            if timeout_at(
                until.max(Instant::now() + Duration::from_millis(1)),
                &mut task,
            )
            .await
            .is_err()
            {
                drained.abandoned += 1;
            }
        }
        self.inner.abort();
        drained
    }
}
