//! Compares a store with the model over many programs, and shrinks the one that differs.

use std::sync::Arc;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use surefoot_core::port::Store;
use tokio::runtime::Runtime;

use super::{OPS_MAX, Program, programs, run};
use crate::{ManualClock, MemoryStore};

/// How many steps are spent on making a program that differs smaller.
const SHRINK_STEPS_MAX: u32 = 400;

/// Runs as many programs, drawn by `seed`, over [`MemoryStore`] and over what `open` gives: an empty store for each
/// call. All of it runs on `runtime`, so that pools outlive one program; it must not be called from within a runtime.
///
/// # Panics
/// With the smallest program found whose transcripts differ, and where they do.
pub fn same_as_model<F>(runtime: &Runtime, seed: u64, cases: u32, open: impl Fn() -> F)
where
    F: Future<Output = Arc<dyn Store>>,
{
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: SHRINK_STEPS_MAX,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng(seed));
    let found = runner.run(&programs(OPS_MAX), |program| {
        let (expected, actual) = runtime.block_on(async {
            let expected = run(model(), &program).await;
            (expected, run(open().await, &program).await)
        });
        difference(&expected, &actual)
            .map_or(Ok(()), |difference| Err(TestCaseError::fail(difference)))
    });
    match found {
        Ok(()) => {}
        Err(TestError::Fail(difference, Program { ops })) => {
            panic!("{difference}\nprogram: {ops:#?}")
        }
        Err(TestError::Abort(reason)) => panic!("no programs were run: {reason}"),
    }
}

/// As many programs, drawn by `seed`: for tests that run them in their own way.
#[must_use]
pub fn drawn(seed: u64, cases: usize) -> Vec<Program> {
    let mut runner = TestRunner::new_with_rng(Config::default(), rng(seed));
    let strategy = programs(OPS_MAX);
    // A strategy without filters always has a next value, so nothing is left out here.
    (0..cases)
        .filter_map(|_| strategy.new_tree(&mut runner).ok())
        .map(|tree| tree.current())
        .collect()
}

fn model() -> Arc<dyn Store> {
    let clock = ManualClock::new(surefoot_core::time::Timestamp::MIN);
    Arc::new(MemoryStore::new(Arc::new(clock)))
}

fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// The first line in which two transcripts differ.
fn difference(expected: &[String], actual: &[String]) -> Option<String> {
    let end = "the transcript ends";
    (0..expected.len().max(actual.len())).find_map(|line| {
        let of = |transcript: &[String]| transcript.get(line).map_or(end.to_owned(), Clone::clone);
        let (expected, actual) = (of(expected), of(actual));
        let differs = expected != actual;
        differs.then(|| {
            format!(
                "line {line} of the transcript differs\n   model: {expected}\n   store: {actual}"
            )
        })
    })
}
