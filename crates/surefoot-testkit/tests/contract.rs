//! The store contract over the stores of this crate.

use std::sync::Arc;

use surefoot_core::port::Store;
use surefoot_core::time::Timestamp;
use surefoot_testkit::{ManualClock, MemoryStore};

mod memory {
    use super::*;

    async fn open(_case: &'static str) -> Arc<dyn Store> {
        Arc::new(MemoryStore::new(Arc::new(ManualClock::new(
            Timestamp::from_micros(1_772_366_400_000_000),
        ))))
    }

    surefoot_testkit::store_contract!(open);
}
