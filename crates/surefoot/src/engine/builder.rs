//! Puts an engine together and checks it as a whole before anything runs.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use surefoot_core::error::StoreError;
use surefoot_core::id::{Kind, NameError};
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::Store;

use super::health::LastTime;
use super::node::{LostClaims, Node};
use super::{Engine, EngineOptions};
use crate::bounded::within;
use crate::checklist::Checklist;
use crate::client::Client;
use crate::clock::NodeClock;
use crate::cx::Cx;
use crate::dice::Dice;
use crate::handler::{Handler, Typed};
use crate::holder;
use crate::job::{Job, Outcome};
use crate::observe::{NoObserver, Observer};
use crate::policies::Policies;

/// An engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What was put together contradicts itself; every fault, each with its remedy.
    #[error("the engine is not sound: {}", .0.join("; "))]
    Unsound(Vec<String>),
    /// The store did not answer or refused.
    #[error("the store is not ready")]
    Store(#[from] StoreError),
    /// The operating system gave no thread for the heartbeat.
    #[error("no thread for the heartbeat")]
    Thread(#[source] std::io::Error),
}

/// What an engine is made of.
pub struct EngineBuilder {
    store: Arc<dyn Store>,
    handlers: HashMap<Kind, Arc<dyn Handler>>,
    policies: Policies,
    options: EngineOptions,
    observer: Arc<dyn Observer>,
    checklist: Option<Checklist>,
    faults: Vec<String>,
}

impl EngineBuilder {
    pub(crate) fn over(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            handlers: HashMap::new(),
            policies: Policies::new(),
            options: EngineOptions::default(),
            observer: Arc::new(NoObserver),
            checklist: None,
            faults: Vec::new(),
        }
    }

    /// Runs jobs of type `J` by an async function `(J, Cx) -> Outcome<J::Output>`.
    #[must_use]
    pub fn handle<J, F, Fut>(self, function: F, policy: JobPolicy) -> Self
    where
        J: Job,
        F: Fn(J, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<J::Output>> + Send + 'static,
    {
        self.handle_named(Kind::new(J::KIND), policy, Arc::new(Typed::new(function)))
    }

    /// Runs jobs of a kind by a raw handler.
    #[must_use]
    pub fn handler(self, kind: Kind, policy: JobPolicy, handler: Arc<dyn Handler>) -> Self {
        self.handle_named(Ok(kind), policy, handler)
    }

    /// Declares how a kind is run that this node has no handler for: one of pull workers or of other nodes. Undeclared, it
    /// would be decided about by [`JobPolicy::default`].
    #[must_use]
    pub fn declare(mut self, kind: Kind, policy: JobPolicy) -> Self {
        if self.policies.declares(&kind) {
            self.faults
                .push(format!("kind {kind} is declared twice; leave one out"));
        }
        self.policies.insert(kind, policy);
        self
    }

    /// How the node works.
    #[must_use]
    pub fn options(mut self, options: EngineOptions) -> Self {
        self.options = options;
        self
    }

    /// Who sees what happens.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Holds the engine to a checklist: it does not start when a kind is not on it or is run by another policy, and an
    /// effect of a handler that is not on it, or means something else when its outcome is unknown, is a permanent failure
    /// before it is sent. To a pull worker of a kind that is declared, such an effect is refused.
    #[must_use]
    pub fn checklist(mut self, checklist: Checklist) -> Self {
        self.checklist = Some(checklist);
        self
    }

    /// Starts the loops. Must be called inside a tokio runtime with time enabled.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start(mut self) -> Result<Engine, StartError> {
        let mut faults = self.faults;
        faults.extend(self.options.validate());
        faults.extend(self.policies.validate());
        if let Some(checklist) = self.checklist {
            faults.extend(checklist.contradicts(&self.policies));
            for (kind, answers) in checklist.into_answers() {
                self.policies.bind(kind, answers.effects);
            }
        }
        if !faults.is_empty() {
            return Err(StartError::Unsound(faults));
        }
        let options = self.options;
        let limit = options.store_timeout;
        let clock = Arc::new(within(limit, NodeClock::measured(&*self.store)).await?);
        let name = options
            .worker
            .as_ref()
            .map_or_else(random_name, ToString::to_string);
        let worker =
            holder::node(&name).map_err(|error| StartError::Unsound(vec![error.to_string()]))?;
        let dice = match options.seed {
            Some(seed) => Dice::seeded(seed, &name),
            None => Dice::new(),
        };
        let policies = Arc::new(self.policies);
        let client = Client::assembled(
            self.store,
            Arc::<NodeClock>::clone(&clock),
            policies,
            self.observer,
            limit,
            dice,
        )
        .with_queue_limits(options.queue_limits.clone());
        Engine::launch(Node {
            client,
            clock,
            worker,
            handlers: self.handlers,
            options,
            claimed: LastTime::new(),
            beat: LastTime::new(),
            lost_claims: LostClaims::default(),
        })
    }

    fn handle_named(
        mut self,
        kind: Result<Kind, NameError>,
        policy: JobPolicy,
        handler: Arc<dyn Handler>,
    ) -> Self {
        match kind {
            Ok(kind) => {
                self.handlers.insert(kind.clone(), handler);
                self.declare(kind, policy)
            }
            Err(error) => {
                self.faults.push(error.to_string());
                self
            }
        }
    }
}

fn random_name() -> String {
    let bytes = Dice::new().bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
