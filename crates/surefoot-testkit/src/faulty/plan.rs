//! Which call goes wrong: scripts first, then the dice.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Fault, Verb};

/// Chances of each fault, from 0 to 1, over all verbs. They are drawn in the order of the fields; their sum should
/// not be above 1. The default is no fault.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultRates {
    /// The chance of [`Fault::Before`].
    pub before: f64,
    /// The chance of [`Fault::After`].
    pub after: f64,
    /// The chance of [`Fault::Delay`].
    pub delay: f64,
    /// The chance of [`Fault::Late`].
    pub late: f64,
    /// The longest delay; each is drawn evenly up to it.
    pub delay_max: Duration,
}

/// What was done to a verb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Calls, whatever became of them.
    pub calls: u64,
    /// Calls that failed before they took effect.
    pub before: u64,
    /// Calls that took effect and failed.
    pub after: u64,
    /// Calls that took effect or answered later.
    pub delayed: u64,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rates: FaultRates,
    scripts: BTreeMap<Verb, VecDeque<Option<Fault>>>,
    dice: fastrand::Rng,
    counts: BTreeMap<Verb, FaultCounts>,
}

impl Plan {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rates: FaultRates::default(),
            scripts: BTreeMap::new(),
            dice: fastrand::Rng::with_seed(seed),
            counts: BTreeMap::new(),
        }
    }

    pub(super) fn script(&mut self, verb: Verb, fault: Option<Fault>) {
        self.scripts.entry(verb).or_default().push_back(fault);
    }

    pub(super) fn counts(&self, verb: Verb) -> FaultCounts {
        self.counts.get(&verb).copied().unwrap_or_default()
    }

    /// What is to go wrong with this call, if anything.
    pub(super) fn draw(&mut self, verb: Verb) -> Option<Fault> {
        let scripted = self.scripts.get_mut(&verb).and_then(VecDeque::pop_front);
        let fault = scripted.unwrap_or_else(|| self.roll());
        let counts = self.counts.entry(verb).or_default();
        counts.calls += 1;
        match fault {
            None => {}
            Some(Fault::Before) => counts.before += 1,
            Some(Fault::After) => counts.after += 1,
            Some(Fault::Delay(_) | Fault::Late(_)) => counts.delayed += 1,
        }
        fault
    }

    fn roll(&mut self) -> Option<Fault> {
        let FaultRates {
            before,
            after,
            delay,
            late,
            delay_max,
        } = self.rates;
        let roll = self.dice.f64();
        let wait = delay_max.mul_f64(self.dice.f64());
        if roll < before {
            Some(Fault::Before)
        } else if roll < before + after {
            Some(Fault::After)
        } else if roll < before + after + delay {
            Some(Fault::Delay(wait))
        } else if roll < before + after + delay + late {
            Some(Fault::Late(wait))
        } else {
            None
        }
    }
}
