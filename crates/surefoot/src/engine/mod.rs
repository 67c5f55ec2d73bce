//! The engine: one node that runs jobs. Its parts are loops of their own files; here they are started, asked and
//! stopped.

mod adopt;
mod advance;
mod attempt;
mod backlog;
mod builder;
mod drain;
mod health;
mod heartbeat;
mod listen;
mod node;
mod options;
mod sweep;
mod upkeep;

use std::sync::Arc;

use surefoot_core::id::{JobId, Worker};
use surefoot_core::port::{Enqueued, Store};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::clock::NodeClock;
use crate::error::Error;
use crate::intent::Intent;
use crate::job::{Job, JobRef};
use advance::AdvanceLoop;
use drain::Phase;
use node::Node;

pub use builder::{EngineBuilder, StartError};
pub use drain::Drained;
pub use health::Health;
pub use options::{EngineOptions, Heartbeat};

/// A node that runs jobs; cheap to clone.
///
/// Dropping the last clone without [`drain`](Self::drain) stops everything in the middle, as a crash would: what ran is
/// found lost when its lease ends.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    node: Arc<Node>,
    phase: watch::Sender<Phase>,
    drained: watch::Receiver<Option<Drained>>,
    loops: Vec<AbortHandle>,
    heart: CancellationToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end_loops();
    }
}

impl Inner {
    /// Ends every loop, the heartbeat last.
    fn end_loops(&self) {
        for task in &self.loops {
            task.abort();
        }
        self.heart.cancel();
    }
}

impl Engine {
    /// An engine over a store, to be told what it runs.
    #[must_use]
    pub fn over(store: Arc<dyn Store>) -> EngineBuilder {
        EngineBuilder::over(store)
    }

    fn launch(node: Node) -> Result<Self, StartError> {
        let node = Arc::new(node);
        let heart = CancellationToken::new();
        let heartbeat = heartbeat::Heartbeat::new(Arc::clone(&node), heart.clone());
        match node.options.heartbeat {
            Heartbeat::OwnThread => heartbeat.spawn_thread().map_err(StartError::Thread)?,
            Heartbeat::Task => drop(tokio::spawn(heartbeat.run())),
        }
        let (phase, phases) = watch::channel(Phase::Working);
        let (done, drained) = watch::channel(None);
        let advance = AdvanceLoop::new(Arc::clone(&node));
        let loops = vec![
            tokio::spawn(async move { done.send_replace(Some(advance.run(phases).await)) })
                .abort_handle(),
            tokio::spawn(sweep::run(Arc::clone(&node))).abort_handle(),
            tokio::spawn(upkeep::run(Arc::clone(&node))).abort_handle(),
            tokio::spawn(listen::run(Arc::clone(&node))).abort_handle(),
        ];
        Ok(Self {
            inner: Arc::new(Inner {
                node,
                phase,
                drained,
                loops,
                heart,
            }),
        })
    }

    /// Everything but the loops; for handlers, servers and other tasks.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.node.client
    }

    /// The node's clock, for what stands beside the engine, such as a guard. The engine keeps it with the database's until it
    /// has drained; from then on it goes by the monotonic clock alone.
    #[must_use]
    pub fn clock(&self) -> Arc<NodeClock> {
        Arc::clone(&self.inner.node.clock)
    }

    /// The name of this start of the node.
    #[must_use]
    pub fn worker(&self) -> &Worker {
        &self.inner.node.worker
    }

    /// Hands in a typed job.
    ///
    /// # Errors
    /// As [`Client::enqueue_job`].
    pub async fn enqueue<J: Job>(&self, job: J) -> Result<JobRef<J>, Error> {
        self.inner.node.client.enqueue_job(&job).await
    }

    /// Hands in an intent: with a time, a tenant, a trace.
    ///
    /// # Errors
    /// As [`Client::enqueue`].
    pub async fn enqueue_intent(&self, intent: Intent) -> Result<Enqueued, Error> {
        self.inner.node.client.enqueue(intent).await
    }

    /// Waits for a typed job's output: for as long as its retries last, which may be days. Wrap it in a time-out where
    /// that matters; the job goes on without its waiter.
    ///
    /// # Errors
    /// As [`Client::result_of`].
    pub async fn result<J: Job>(&self, job: JobRef<J>) -> Result<J::Output, Error> {
        self.inner.node.client.result(job).await
    }

    /// Waits for the output of a job by its id, for as long as [`result`](Self::result) does.
    ///
    /// # Errors
    /// As [`Client::result_of`].
    pub async fn result_of<T: serde::de::DeserializeOwned>(&self, job: JobId) -> Result<T, Error> {
        self.inner.node.client.result_of(job).await
    }

    /// How the loops are.
    #[must_use]
    pub fn health(&self) -> Health {
        Health {
            claimed: self.inner.node.claimed.age(),
            beat: self.inner.node.beat.age(),
            running: self.inner.node.client.local().running.all().len(),
            draining: *self.inner.phase.borrow() == Phase::Draining,
        }
    }

    /// Stops claiming, lets handlers finish within the grace, stops the rest and gives their attempts back, writes down
    /// what ended, and ends the loops, the heartbeat last. It returns within the grace, the cancel grace and two calls of
    /// the store. Further calls wait for the same end.
    ///
    /// A stopped handler of a kind that must never be sent twice is not given back: its outcome is unknown.
    pub async fn drain(&self) -> Drained {
        self.inner.phase.send_replace(Phase::Draining);
        let mut drained = self.inner.drained.clone();
        let left = match drained.wait_for(Option::is_some).await {
            Ok(drained) => drained.unwrap_or_default(),
            // The loop is gone with its runtime.
            Err(_) => Drained::default(),
        };
        self.inner.end_loops();
        left
    }
}
