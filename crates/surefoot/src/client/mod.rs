//! Everything but the loops: handing in, looking, steering, pull workers. It holds no state that matters: what it says
//! is durable is in the store.

mod effect;
mod enqueue;
mod follow;
mod pull;
mod read;
mod steer;
mod watch;
mod witness;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::port::Store;
use surefoot_core::time::{Clock, Timestamp};

use crate::announcer::Announcer;
use crate::bounded::{Bounded, STORE_TIMEOUT};
use crate::clock::NodeClock;
use crate::dice::Dice;
use crate::local::Local;
use crate::observe::{Guarded, Observer};
use crate::policies::Policies;

pub use effect::{EffectBegun, EffectTold};
pub use pull::{LeaseExtended, Reported};
pub use watch::{Changed, Seen};
pub use witness::Resolved;

/// The door to the jobs of one store; cheap to clone.
///
/// Every call of the store is bounded ([`STORE_TIMEOUT`] unless the engine was told otherwise) and every failure of it
/// goes to the observer. All calls must be made inside a tokio runtime.
#[derive(Clone)]
pub struct Client {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    policies: Arc<Policies>,
    observer: Arc<dyn Observer>,
    local: Arc<Local>,
    announcer: Arc<Announcer>,
    dice: Arc<Dice>,
    queue_limits: Arc<BTreeMap<Queue, u32>>,
}

impl Client {
    /// A client whose time is `clock`.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        policies: Arc<Policies>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        Self::assembled(store, clock, policies, observer, STORE_TIMEOUT, Dice::new())
    }

    /// A client whose clock is set by the store's, once; the client of an engine follows the store's clock.
    ///
    /// # Errors
    /// What the store answered when it was asked for its time.
    pub async fn connect(
        store: Arc<dyn Store>,
        policies: Arc<Policies>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, StoreError> {
        let measured = NodeClock::measured(&*store);
        let clock = crate::bounded::within(STORE_TIMEOUT, measured).await?;
        Ok(Self::new(store, Arc::new(clock), policies, observer))
    }

    pub(crate) fn assembled(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        policies: Arc<Policies>,
        observer: Arc<dyn Observer>,
        store_timeout: Duration,
        dice: Dice,
    ) -> Self {
        let observer: Arc<dyn Observer> = Arc::new(Guarded(observer));
        let store = Arc::new(Bounded::new(store, store_timeout, Arc::clone(&observer)));
        Self {
            store,
            clock,
            policies,
            observer,
            local: Arc::default(),
            announcer: Arc::default(),
            dice: Arc::new(dice),
            queue_limits: Arc::default(),
        }
    }

    /// The store, each call of it bounded.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The time by the node's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How kinds are run.
    #[must_use]
    pub fn policies(&self) -> &Arc<Policies> {
        &self.policies
    }

    /// Who sees what happens.
    #[must_use]
    pub fn observer(&self) -> &Arc<dyn Observer> {
        &self.observer
    }

    /// The same client; pull workers claim within these limits on how many jobs of a queue run at once.
    #[must_use]
    pub fn with_queue_limits(self, queue_limits: BTreeMap<Queue, u32>) -> Self {
        Self {
            queue_limits: Arc::new(queue_limits),
            ..self
        }
    }

    pub(crate) fn local(&self) -> &Arc<Local> {
        &self.local
    }

    /// Tells other nodes that a queue has work.
    pub(crate) fn announce(&self, queue: &Queue) {
        self.announcer.announce(&self.store, std::iter::once(queue));
    }

    pub(crate) fn dice(&self) -> &Dice {
        &self.dice
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}
