//! The contract of messages over the store in memory, and over faults.

use std::sync::Arc;

use surefoot_core::port::Messages;
use surefoot_core::time::Timestamp;
use surefoot_testkit::{FaultyStore, ManualClock, MemoryStore};

fn memory() -> MemoryStore {
    let clock = ManualClock::new(Timestamp::from_micros(1_772_366_400_000_000));
    MemoryStore::new(Arc::new(clock))
}

mod over_memory {
    use super::*;

    async fn open(_case: &'static str) -> Arc<dyn Messages> {
        Arc::new(memory())
    }

    surefoot_testkit::messages_contract!(open);
}

mod over_faulty_without_faults {
    use super::*;

    async fn open(_case: &'static str) -> Arc<dyn Messages> {
        let memory = Arc::new(memory());
        Arc::new(FaultyStore::over(memory.clone(), 7).messages(memory))
    }

    surefoot_testkit::messages_contract!(open);
}
