//! The store contract over the stores of this crate.

use std::sync::Arc;

use surefoot_core::port::Store;
use surefoot_core::time::Timestamp;
use surefoot_testkit::{FaultyStore, ManualClock, MemoryStore};

fn memory() -> Arc<dyn Store> {
    let clock = ManualClock::new(Timestamp::from_micros(1_772_366_400_000_000));
    Arc::new(MemoryStore::new(Arc::new(clock)))
}

mod over_memory {
    use super::*;

    async fn open(_case: &'static str) -> Arc<dyn Store> {
        memory()
    }

    surefoot_testkit::store_contract!(open);
}

mod over_faulty_without_faults {
    use super::*;

    async fn open(_case: &'static str) -> Arc<dyn Store> {
        Arc::new(FaultyStore::over(memory(), 7))
    }

    surefoot_testkit::store_contract!(open);
}
