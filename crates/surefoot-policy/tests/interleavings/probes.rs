//! What holds in whatever order threads meet at a breaker: no more probes than places, and each change of state once.

use std::time::Duration;

use loom::sync::Arc;
use loom::thread;
use surefoot_core::time::Roll;

use crate::breaker::{Breaker, BreakerOptions, Evidence, Force};
use crate::clock::Moment;

const ROLL: Roll = Roll(0);

fn at(millis: u64) -> Moment {
    Moment::from_nanos(1 << 44).after(Duration::from_millis(millis))
}

fn options(probes: u32) -> BreakerOptions {
    BreakerOptions {
        consecutive_failures: 1,
        open_for: Duration::from_secs(1),
        open_jitter: 0.0,
        probes,
        successes_to_close: 1,
        probe_lease: Duration::from_secs(10),
        ramp: Duration::ZERO,
        ..BreakerOptions::default()
    }
}

/// Every order with at most two switches beyond those that must be: few faults need more.
fn explore(work: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(work);
}

/// One that has just opened: from 1001 ms on it lets probes pass.
fn tripped(options: &BreakerOptions) -> Arc<Breaker> {
    let breaker = Breaker::new(options);
    let (permit, _) = breaker.admit(options, at(0), || ROLL).unwrap();
    assert!(
        permit
            .settle(options, Evidence::Failed, at(0), || ROLL)
            .is_some()
    );
    Arc::new(breaker)
}

/// Asks to pass; one that passes stays out for good.
fn passes(breaker: &Breaker, options: &BreakerOptions, millis: u64) -> u32 {
    let admitted = breaker.admit(options, at(millis), || ROLL);
    admitted.map_or(0, |(permit, _)| {
        std::mem::forget(permit);
        1
    })
}

#[test]
fn no_more_probes_than_places_pass_at_the_end_of_the_open_time() {
    for places in [1, 2] {
        explore(move || {
            let options = options(places);
            let breaker = tripped(&options);
            let others = [(); 2].map(|()| {
                let (breaker, options) = (Arc::clone(&breaker), options.clone());
                thread::spawn(move || passes(&breaker, &options, 1_001))
            });
            let own = passes(&breaker, &options, 1_001);
            let passed = own
                + others
                    .map(|other| other.join().unwrap())
                    .iter()
                    .sum::<u32>();
            assert!(
                (1..=places).contains(&passed),
                "{passed} passed of {places}"
            );
        });
    }
}

#[test]
fn a_place_whose_lease_has_ended_goes_to_one_and_its_first_holder_takes_it_from_nobody() {
    explore(|| {
        let options = options(1);
        let breaker = tripped(&options);
        let (hung, _) = breaker.admit(&options, at(1_001), || ROLL).unwrap();
        let other = {
            let (breaker, options) = (Arc::clone(&breaker), options.clone());
            thread::spawn(move || passes(&breaker, &options, 20_000))
        };
        let own = passes(&breaker, &options, 20_000);
        drop(hung);
        let passed = own + other.join().unwrap();
        assert!(passed <= 1, "{passed} passed");
        let next = passes(&breaker, &options, 20_000);
        assert_eq!(passed + next, 1, "{passed} passed, and then {next}");
    });
}

#[test]
fn each_change_of_state_happens_once_and_is_told_once() {
    explore(|| {
        let options = options(2);
        let breaker = tripped(&options);
        // Half open, with a probe that never comes back.
        assert_eq!(passes(&breaker, &options, 1_001), 1);
        let before = breaker.generation();
        let settling = [Evidence::Alive, Evidence::Failed].map(|evidence| {
            let (breaker, options) = (Arc::clone(&breaker), options.clone());
            thread::spawn(move || {
                let admitted = breaker.admit(&options, at(12_000), || ROLL);
                admitted.map_or(0, |(permit, reopened)| {
                    let settled = permit.settle(&options, evidence, at(12_000), || ROLL);
                    u32::from(reopened.is_some()) + u32::from(settled.is_some())
                })
            })
        });
        let forced = breaker.force(Force::Disable, &options, at(12_000));
        let told = settling.map(|thread| thread.join().unwrap());
        let told = told.iter().sum::<u32>() + u32::from(forced.is_some());
        assert_eq!(breaker.generation(), before + told);
    });
}
