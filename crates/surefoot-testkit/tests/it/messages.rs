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

#[test]
fn every_case_is_in_the_macro() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/contract/messages");
    let listed = include_str!("../../src/contract/messages/mod.rs");
    let mut cases = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let family = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if family == "mod" || family == "fixture" {
            continue;
        }
        let room = listed.split(&format!("@family $open {family}\n")).nth(1);
        let room = room.unwrap_or_else(|| panic!("family {family} is not in the macro"));
        let room = room.split('}').next().unwrap();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                let case = rest.split('(').next().unwrap();
                let found = room.lines().any(|line| line.trim() == case);
                assert!(found, "{family}::{case} is not in the macro");
                cases += 1;
            }
        }
    }
    assert!(cases > 40, "{cases} cases were found");
}
