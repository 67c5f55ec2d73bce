//! [`MemoryStore`]: the port in its plainest form, the model that the other stores are compared with. It never
//! sleeps, spawns or polls, so it works under a paused runtime clock; nothing here may trade plainness for speed.

mod claim;
mod effect;
mod enqueue;
mod messages;
mod port;
mod requests;
mod settle;
mod steer;
mod table;
mod view;
mod wake;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use surefoot_core::error::StoreError;
use surefoot_core::port::BATCH_MAX;
use surefoot_core::time::Clock;

use table::Table;
use wake::Wakes;

/// A store in memory. Clones share what they hold, as nodes share a database.
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    table: Arc<Mutex<Table>>,
    wakes: Wakes,
}

impl MemoryStore {
    /// An empty store. `clock` is what it answers as the database's clock; no verb decides by it.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            table: Arc::default(),
            wakes: Wakes::new(),
        }
    }

    /// A store that holds the same and shares nothing with this one but its announcements, so that several futures can be
    /// tried from one state.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            clock: Arc::clone(&self.clock),
            table: Arc::new(Mutex::new(self.table().clone())),
            wakes: self.wakes.clone(),
        }
    }

    /// The table, for one whole verb: each verb holds it from its first read to its last write.
    fn table(&self) -> MutexGuard<'_, Table> {
        // A verb that panicked is a defect that its own test reports; the others may go on.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

/// Refuses a batch that no store takes.
fn bounded(items: usize) -> Result<(), StoreError> {
    if items > BATCH_MAX {
        return Err(StoreError::Refused(
            format!("a batch of {items}, at most {BATCH_MAX} are taken").into(),
        ));
    }
    Ok(())
}
