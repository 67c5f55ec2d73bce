//! The model finds nothing where the guarantee holds, and finds the double where it ends.

use surefoot_sim::model::{Keeps, Limits, Setup, explore, hunt};

/// Whether the model comes upon a second effect.
fn doubles(setup: &Setup) -> bool {
    let explored = hunt(setup, "no-double-effect").unwrap();
    let mut found = explored.violations.iter();
    found.any(|violation| violation.invariant == "no-double-effect")
}

/// Enough attempts and crashes for a second call.
fn twice(setup: Setup) -> Setup {
    Setup {
        crashes_max: 2,
        attempts_max: 2,
        ..setup.small()
    }
}

#[test]
fn every_invariant_holds_in_every_state() {
    for setup in [Setup::verify(), Setup::at_most_once(), Setup::same_key()] {
        let setup = setup.small();
        let explored = explore(&setup).unwrap();
        assert!(explored.violations.is_empty(), "{setup:?}: {explored}");
        assert!(explored.states > 1000, "{explored}");
        for what in ["calls", "calls given up", "writes under a lost lease"] {
            let count = explored
                .happened()
                .into_iter()
                .find(|(name, _)| *name == what);
            assert!(
                count.is_some_and(|(_, count)| count > 10),
                "{what}: {count:?}"
            );
        }
    }
}

#[test]
fn a_key_that_the_provider_forgets_earlier_than_declared_can_double() {
    let forgets_sooner = Setup {
        keeps_keys: Some(Keeps::Ticks(1)),
        ..twice(Setup::same_key_forgotten())
    };
    assert!(doubles(&forgets_sooner));
}

#[test]
fn a_process_frozen_between_its_last_check_and_the_first_byte_can_double() {
    let limits = Limits {
        freeze_before_the_first_byte: true,
        ..Limits::default()
    };
    assert!(doubles(&Setup {
        limits,
        ..twice(Setup::verify())
    }));
}

#[test]
fn a_provider_without_a_look_up_can_double_where_verify_is_declared() {
    let limits = Limits {
        no_look_up: true,
        ..Limits::default()
    };
    assert!(doubles(&Setup {
        limits,
        ..twice(Setup::verify())
    }));
    let once = Setup {
        limits,
        ..Setup::at_most_once().small()
    };
    assert!(!doubles(&once), "at_most_once needs no look-up");
}

#[test]
fn a_provider_that_is_later_than_declared_can_double() {
    let limits = Limits {
        later_than_declared: true,
        ..Limits::default()
    };
    assert!(doubles(&Setup {
        limits,
        ..twice(Setup::verify())
    }));
}
