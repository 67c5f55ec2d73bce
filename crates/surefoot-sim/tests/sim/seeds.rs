//! Worlds drawn by seed: what holds, that the same seed is the same world, and that what does not hold is found and shrunk.

use std::collections::BTreeSet;

use surefoot_sim::seeds::{Limits, Ran, Tally, described, shrunk, world};

const SEEDS: u64 = 200;

fn run(seed: u64, limits: Limits) -> Ran {
    world(seed, &BTreeSet::new(), limits, false).unwrap()
}

#[test]
fn every_invariant_holds_while_everything_goes_wrong() {
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        let ran = run(seed, Limits::default());
        assert!(ran.broken.is_empty(), "seed {seed}: {:?}", ran.broken);
        tally.merge(&ran.tally);
    }
    let rare = tally.too_rare(SEEDS);
    assert!(rare.is_empty(), "{rare:?}\n{tally}");
}

/// Two repetitions were told two times at which one request finished: its own node's, and that on record.
#[test]
fn a_repetition_beside_the_run_is_told_what_is_on_record() {
    for seed in [3841, 9347, 9875] {
        let ran = run(seed, Limits::default());
        assert!(ran.broken.is_empty(), "seed {seed}: {:?}", ran.broken);
    }
}

#[test]
fn the_same_seed_is_the_same_world() {
    let mut traces = BTreeSet::new();
    for seed in 0..20 {
        let (first, second) = (run(seed, Limits::default()), run(seed, Limits::default()));
        assert_eq!(first, second, "seed {seed}");
        traces.insert(first.trace);
    }
    assert_eq!(traces.len(), 20, "and another seed is another world");
}

#[test]
fn a_provider_that_is_later_than_declared_is_found_out_and_the_world_made_small() {
    let limits = Limits {
        later_than_declared: true,
    };
    let doubles = |ran: &Ran| {
        ran.broken
            .iter()
            .any(|(name, _)| *name == "no-double-effect")
    };
    let mut worlds = (0..SEEDS).map(|seed| (seed, run(seed, limits)));
    let (seed, ran) = worlds.find(|(_, ran)| doubles(ran)).unwrap();
    let first = ran.broken[0].0;
    let without = shrunk(seed, limits, &ran).unwrap();
    let again = world(seed, &without, limits, false).unwrap();
    assert!(
        again.broken.iter().any(|(name, _)| *name == first),
        "{again:?}"
    );
    let lines = |without: &BTreeSet<usize>| described(seed, without).lines().count();
    assert!(
        lines(&without) < lines(&BTreeSet::new()),
        "{}",
        described(seed, &without)
    );
}
