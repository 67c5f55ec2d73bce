//! The store contract over the stores of this crate, and that the contract is all run.

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

#[test]
fn every_case_is_in_the_macro() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/contract");
    let listed = include_str!("../../src/contract/mod.rs");
    let mut cases = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let family = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if family == "mod" || family == "fixture" {
            continue;
        }
        let room = listed.split(&format!("@family $open {family}\n")).nth(1);
        let room = room.unwrap_or_else(|| panic!("family {family} is not in the macro"));
        let room = room.split('}').next().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                let case = rest.split('(').next().unwrap();
                let found = room.lines().any(|line| line.trim() == case);
                assert!(found, "{family}::{case} is not in the macro");
                cases += 1;
            }
        }
    }
    assert!(cases > 100, "{cases} cases were found");
}
