//! What happens when, drawn from a seed before anything is started.

use std::time::Duration;

use crate::node::Recovery;
use crate::provider::{Manners, Whim};

/// How many intents a round hands in.
const INTENTS: std::ops::RangeInclusive<usize> = 4..=10;
/// How long after the first of them the node is killed.
const KILL_AFTER_MS: std::ops::Range<u64> = 20..900;
/// How late the provider answers.
const ANSWER_AFTER_MS: std::ops::Range<u64> = 0..500;
/// The share of answers that are never sent.
const DROPPED: f64 = 0.2;
/// The share of those where the connection stays open, so that the caller has to wait for its time-out.
const SILENT: f64 = 0.25;

/// One round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// What is handed in.
    pub(super) intents: Vec<Planned>,
    /// Which node is killed.
    pub(super) victim: usize,
    /// When, from the beginning of the round.
    pub(super) after: Duration,
}

/// One intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// Its key.
    pub(super) intent: String,
    /// How its kind recovers.
    pub(super) recovery: Recovery,
}

/// The whole schedule.
pub(super) fn schedule(seed: u64, rounds: usize, nodes: usize) -> Vec<Round> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let round = |number: usize| {
        let count = dice.usize(INTENTS);
        let intents = (0..count).map(|place| Planned {
            intent: format!("round-{number}-{place}"),
            recovery: if place % 2 == 0 {
                Recovery::Verify
            } else {
                Recovery::AtMostOnce
            },
        });
        Round {
            intents: intents.collect(),
            victim: dice.usize(0..nodes),
            after: Duration::from_millis(dice.u64(KILL_AFTER_MS)),
        }
    };
    (0..rounds).map(round).collect()
}

/// What becomes of the answer of each call. It depends on the intent and on which call of it this is, and not on the order in
/// which calls arrive.
pub(super) fn manners(seed: u64) -> Manners {
    Box::new(move |intent, number| {
        let mut dice = fastrand::Rng::with_seed(mixed(seed, intent, number));
        let after = Duration::from_millis(dice.u64(ANSWER_AFTER_MS));
        if dice.f64() >= DROPPED {
            return Whim::Answer(after);
        }
        if dice.f64() < SILENT {
            Whim::Silent
        } else {
            Whim::Drop(after)
        }
    })
}

/// FNV-1a over all of it.
fn mixed(seed: u64, intent: &str, number: u32) -> u64 {
    let bytes = seed
        .to_le_bytes()
        .into_iter()
        .chain(intent.bytes())
        .chain(number.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_schedule_and_another_one_another() {
        assert_eq!(schedule(7, 50, 3), schedule(7, 50, 3));
        assert_ne!(schedule(7, 50, 3), schedule(8, 50, 3));
        let (one, same) = (manners(7), manners(7));
        assert!((0..100).all(|number| one("i", number) == same("i", number)));
    }

    #[test]
    fn one_answer_in_five_is_dropped_and_every_node_has_its_turn() {
        let manners = manners(1);
        let dropped = (0..5000)
            .filter(|number| !manners("i", *number).answers())
            .count();
        assert!((900..1100).contains(&dropped), "{dropped}");
        for node in 0..3 {
            assert!(schedule(1, 50, 3).iter().any(|round| round.victim == node));
        }
    }
}
