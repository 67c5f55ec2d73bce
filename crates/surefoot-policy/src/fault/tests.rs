//! The shares come out as they were asked for.

use std::time::Duration;

use super::*;
use crate::clock::{Dice, SeededDice};

#[test]
fn each_fault_has_its_share() {
    let options = FaultOptions {
        errors: 0.1,
        resets: 0.2,
        hangs: 0.05,
        delays: 0.15,
        latency: Duration::from_secs(1),
    };
    let dice = SeededDice::new(3);
    let mut counts = [0_u32; 5];
    for _ in 0..20_000 {
        counts[match options.injected(dice.roll()) {
            Some(Injected::Error) => 0,
            Some(Injected::Reset) => 1,
            Some(Injected::Hang) => 2,
            Some(Injected::Delay(_)) => 3,
            None => 4,
        }] += 1;
    }
    for (count, expected) in counts
        .into_iter()
        .zip([2_000, 4_000, 1_000, 3_000, 10_000_u32])
    {
        assert!(count.abs_diff(expected) < expected / 8, "{counts:?}");
    }
    assert_eq!(FaultOptions::default().injected(dice.roll()), None);
}

#[test]
fn faults_of_the_options_are_told_together() {
    let wrong = FaultOptions {
        errors: 0.8,
        resets: 0.9,
        hangs: -0.1,
        delays: 0.1,
        latency: Duration::ZERO,
    };
    assert_eq!(wrong.validate().len(), 3, "{:?}", wrong.validate());
    assert_eq!(
        FaultOptions {
            hangs: 1.0,
            ..FaultOptions::default()
        }
        .validate(),
        Vec::<String>::new()
    );
}
