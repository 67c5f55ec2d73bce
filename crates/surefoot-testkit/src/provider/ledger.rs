//! What came in, what took effect, and what the next call meets.

use std::collections::{BTreeMap, VecDeque};

use super::{Act, Answer};

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) deduplicates: bool,
    pub(super) witnesses: bool,
    pub(super) script: VecDeque<Act>,
    pub(super) scripts_for: BTreeMap<String, VecDeque<Act>>,
    pub(super) calls: u64,
    pub(super) received: VecDeque<Received>,
    dice: fastrand::Rng,
    chances: Vec<(f64, Act)>,
    keys: BTreeMap<String, Seen>,
    keyless: Seen,
    effects: BTreeMap<String, Answer>,
    effects_made: u64,
}

/// How often what happened to calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Calls, whatever became of them.
    pub calls: u64,
    /// Calls that took effect.
    pub applied: u64,
}

/// What came and what took effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By `Idempotency-Key`.
    pub keys: BTreeMap<String, Seen>,
    /// Calls without a key.
    pub keyless: Seen,
}

impl Report {
    /// The keys whose effect took place more than once: where no-double-effect does not hold.
    #[must_use]
    pub fn doubles(&self) -> Vec<&str> {
        self.keys
            .iter()
            .filter(|(_, seen)| seen.applied > 1)
            .map(|(key, _)| key.as_str())
            .collect()
    }

    /// How many effects took place.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.keyless.applied + self.keys.values().map(|seen| seen.applied).sum::<u64>()
    }
}

/// A call as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The `Idempotency-Key`.
    pub key: Option<String>,
    /// The headers, names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body; bytes that are not UTF-8 are replaced.
    pub body: String,
}

impl Received {
    /// How many calls are kept: the latest.
    pub const KEPT_MAX: usize = 10_000;

    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let same = |(header, _): &&(String, String)| header.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(same)
            .map(|(_, value)| value.as_str())
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            deduplicates: true,
            witnesses: true,
            script: VecDeque::new(),
            scripts_for: BTreeMap::new(),
            calls: 0,
            received: VecDeque::new(),
            dice: fastrand::Rng::with_seed(0),
            chances: Vec::new(),
            keys: BTreeMap::new(),
            keyless: Seen::default(),
            effects: BTreeMap::new(),
            effects_made: 0,
        }
    }
}

impl Ledger {
    pub(super) fn misbehave(&mut self, seed: u64, chances: Vec<(f64, Act)>) {
        self.dice = fastrand::Rng::with_seed(seed);
        self.chances = chances;
    }

    /// Writes a call down, and says what it meets.
    pub(super) fn receive(&mut self, received: Received) -> Act {
        self.calls += 1;
        self.seen_mut(received.key.as_deref()).calls += 1;
        let act = self.draw(received.key.as_deref());
        self.received.push_back(received);
        if self.received.len() > Received::KEPT_MAX {
            self.received.pop_front();
        }
        act
    }

    /// Lets a call take effect, unless its key did so before, and gives the answer of the effect.
    pub(super) fn apply(&mut self, key: Option<&str>, answer: Option<Answer>) -> Answer {
        let first = key.and_then(|key| self.effects.get(key));
        if let Some(first) = first.filter(|_| self.deduplicates) {
            return first.clone();
        }
        self.effects_made += 1;
        self.seen_mut(key).applied += 1;
        let answer = answer
            .unwrap_or_else(|| Answer::new(200, format!("{{\"effect\":{}}}", self.effects_made)));
        if let Some(key) = key {
            self.effects.insert(key.to_owned(), answer.clone());
        }
        answer
    }

    /// The answer of the effect under a key, if there is one.
    pub(super) fn effect(&self, key: &str) -> Option<&Answer> {
        self.effects.get(key)
    }

    pub(super) fn seen(&self, key: &str) -> Seen {
        self.keys.get(key).copied().unwrap_or_default()
    }

    pub(super) fn report(&self) -> Report {
        Report {
            keys: self.keys.clone(),
            keyless: self.keyless,
        }
    }

    fn seen_mut(&mut self, key: Option<&str>) -> &mut Seen {
        match key {
            Some(key) => self.keys.entry(key.to_owned()).or_default(),
            None => &mut self.keyless,
        }
    }

    fn draw(&mut self, key: Option<&str>) -> Act {
        let own = key
            .and_then(|key| self.scripts_for.get_mut(key))
            .and_then(VecDeque::pop_front);
        own.or_else(|| self.script.pop_front())
            .unwrap_or_else(|| self.roll())
    }

    fn roll(&mut self) -> Act {
        let roll = self.dice.f64();
        let mut upto = 0.0;
        for (chance, act) in &self.chances {
            upto += chance;
            if roll < upto {
                return act.clone();
            }
        }
        Act::Apply
    }
}
