//! [`FaultyStore`]: a store that fails as databases do. It decides when a verb fails, never what the verb does: what
//! got through is the inner store's own work.

mod messages;
mod plan;
mod requests;
mod store;
mod verb;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use surefoot_core::port::Store;

pub use messages::FaultyMessages;
use plan::Plan;
pub use plan::{FaultCounts, FaultRates};
pub use requests::FaultyRequests;
pub use verb::Verb;

/// How a verb goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails and takes no effect.
    Before,
    /// It takes effect, and its answer is lost: the caller sees [`StoreError::Unavailable`].
    ///
    /// [`StoreError::Unavailable`]: surefoot_core::error::StoreError::Unavailable
    After,
    /// It takes effect this much later.
    Delay(Duration),
    /// It takes effect at once, and its answer comes this much later.
    Late(Duration),
}

/// A store that fails before or after a verb takes effect, or is slow: by script, by seeded chance, or not at all.
/// Clones share the faults and the counts. Delays are tokio's, so they pass at once under a paused clock.
#[derive(Clone)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    plan: Arc<Mutex<Plan>>,
}

impl FaultyStore {
    /// A store without faults so far. The same seed and the same order of calls give the same faults.
    #[must_use]
    pub fn over(inner: Arc<dyn Store>, seed: u64) -> Self {
        Self {
            inner,
            plan: Arc::new(Mutex::new(Plan::new(seed))),
        }
    }

    /// From here on, verbs that have no script go wrong by these chances. [`FaultRates::default`] mends the store.
    pub fn misbehave(&self, rates: FaultRates) {
        self.plan().rates = rates;
    }

    /// The next call of `verb` that no earlier script takes goes wrong in this way.
    pub fn next(&self, verb: Verb, fault: Fault) {
        self.plan().script(verb, Some(fault));
    }

    /// The next call of `verb` that no earlier script takes goes right, whatever the chances.
    pub fn next_right(&self, verb: Verb) {
        self.plan().script(verb, None);
    }

    /// What was done to this verb so far.
    #[must_use]
    pub fn counts(&self, verb: Verb) -> FaultCounts {
        self.plan().counts(verb)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyStore")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
