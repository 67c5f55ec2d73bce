//! What every route shares.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use surefoot::Client;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::job::Job;
use surefoot_core::port::{Messages, Requests};
use tokio::sync::Semaphore;

use crate::dependency::Dependencies;
use crate::language::Language;
use crate::metrics::{DepthCache, Metrics};
use crate::options::{Readiness, ServerOptions};
use crate::token::Token;
use crate::wire::View;

/// What every route shares; cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    client: Client,
    requests: Arc<dyn Requests>,
    messages: Arc<dyn Messages>,
    metrics: Arc<Metrics>,
    depth: DepthCache,
    streams: Arc<Semaphore>,
    options: ServerOptions,
}

impl App {
    pub(crate) fn new(
        client: Client,
        requests: Arc<dyn Requests>,
        messages: Arc<dyn Messages>,
        metrics: Arc<Metrics>,
        options: ServerOptions,
    ) -> Self {
        let streams = Arc::new(Semaphore::new(
            options.streams_max.min(Semaphore::MAX_PERMITS),
        ));
        Self(Arc::new(Shared {
            client,
            requests,
            messages,
            metrics,
            depth: DepthCache::default(),
            streams,
            options,
        }))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(crate) fn requests(&self) -> &dyn Requests {
        &*self.0.requests
    }

    pub(crate) fn messages(&self) -> &dyn Messages {
        &*self.0.messages
    }

    /// Says that there may be something to deliver, where a relay runs in this process.
    pub(crate) fn wake_relay(&self) {
        if let Some(relay) = &self.0.options.relay {
            relay.wake();
        }
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn depth(&self) -> &DepthCache {
        &self.0.depth
    }

    pub(crate) fn tokens(&self) -> &[Token] {
        &self.0.options.tokens
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.0.options.hosts
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        self.0.options.request_timeout
    }

    pub(crate) fn readiness(&self) -> &dyn Readiness {
        &*self.0.options.readiness
    }

    pub(crate) fn dependencies(&self) -> &dyn Dependencies {
        &*self.0.options.dependencies
    }

    pub(crate) fn front_door(&self) -> Option<&Value> {
        self.0.options.front_door.as_ref()
    }

    /// The slots for event streams.
    pub(crate) fn streams(&self) -> &Arc<Semaphore> {
        &self.0.streams
    }

    /// The effects of a job; one that never started has none.
    pub(crate) async fn effects(&self, job: &Job) -> Result<Vec<Effect>, StoreError> {
        match job.counts.starts {
            0 => Ok(Vec::new()),
            _ => self.client().effects(job.id).await,
        }
    }

    /// How jobs are shown to a reader of this language at this time.
    pub(crate) fn view(&self, language: Language) -> View {
        View {
            language,
            now: self.0.client.now(),
        }
    }
}
