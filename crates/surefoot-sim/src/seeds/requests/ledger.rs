//! What the service did, whoever called it and lives or not: effects by key, and what each of its answers meant. What is
//! begun here takes effect at its time, also when its caller is gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot_core::time::Timestamp;

use super::super::log::Log;
use super::super::tally::Happened;
use super::super::time::WorldTime;

/// See the module. Clones are the same ledger.
#[derive(Clone)]
pub(super) struct Ledger {
    time: WorldTime,
    log: Log,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    rate: f64,
    runs: u32,
    calls: BTreeMap<String, u32>,
    effects: BTreeMap<String, Vec<Effect>>,
}

/// Something that took place, or will.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    pub(super) at: Timestamp,
    /// The answer that says so.
    pub(super) body: String,
}

impl Ledger {
    pub(super) fn new(time: WorldTime, log: Log) -> Self {
        Self {
            time,
            log,
            state: Arc::default(),
        }
    }

    fn with<T>(&self, visit: impl FnOnce(&mut State) -> T) -> T {
        visit(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on it misbehaves this often.
    pub(super) fn trouble(&self, rate: f64) {
        self.with(|state| state.rate = rate);
    }

    pub(super) fn rate(&self) -> f64 {
        self.with(|state| state.rate)
    }

    /// The number of a call under this key, and of all runs.
    pub(super) fn called(&self, key: &str) -> (u32, u32) {
        self.with(|state| {
            state.runs += 1;
            let calls = state.calls.entry(key.to_owned()).or_default();
            *calls += 1;
            (*calls, state.runs)
        })
    }

    /// Something takes effect this much later, whatever becomes of its caller.
    pub(super) fn takes_effect(&self, key: &str, after: Duration, body: String) {
        let at = self.time.now().after(after);
        self.log.count(Happened::DoorEffect);
        self.log
            .line(format_args!("effect of {key} in {after:?}: {body}"));
        let effect = Effect { at, body };
        self.with(|state| {
            state
                .effects
                .entry(key.to_owned())
                .or_default()
                .push(effect)
        });
    }

    /// What took place under this key until now.
    pub(super) fn effects(&self, key: &str) -> Vec<Effect> {
        let now = self.time.now();
        let all = self.with(|state| state.effects.get(key).cloned());
        let mut all = all.unwrap_or_default();
        all.retain(|effect| effect.at <= now);
        all
    }
}
