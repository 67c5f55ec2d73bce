//! What is seen of a world while it runs: counts, a trace that is the same whenever the seed is, and broken invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use surefoot_core::id::{Epoch, JobId};

use super::requests::Told;
use super::tally::{Happened, Tally};
use super::time::{T0, WorldTime};

/// See the module. Clones are the same log.
#[derive(Clone)]
pub(super) struct Log {
    time: WorldTime,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) tally: Tally,
    trace: DefaultHasher,
    lines: Option<Vec<String>>,
    pub(super) broken: BTreeMap<&'static str, String>,
    /// Attempts whose handler began.
    pub(super) started: BTreeSet<(JobId, Epoch)>,
    /// Jobs that the store wrote down, in this order.
    pub(super) written: Vec<JobId>,
    /// What was acknowledged to clients.
    pub(super) acknowledged: BTreeMap<u32, JobId>,
    /// What clients of the front door were told.
    pub(super) told: Vec<Told>,
    /// Jobs that were dead letters at some time.
    pub(super) ever_dead: BTreeSet<JobId>,
}

impl Log {
    pub(super) fn new(time: WorldTime, keep_lines: bool) -> Self {
        let state = State {
            lines: keep_lines.then(Vec::new),
            ..State::default()
        };
        Self {
            time,
            state: Arc::new(Mutex::new(state)),
        }
    }

    pub(super) fn with<T>(&self, visit: impl FnOnce(&mut State) -> T) -> T {
        visit(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn count(&self, what: Happened) {
        self.with(|state| state.tally.add(what, 1));
    }

    /// One line of the trace.
    pub(super) fn line(&self, text: Arguments<'_>) {
        let at = self.time.now().since(T0);
        let line = format!("{at:>12.3?} {text}");
        self.with(|state| {
            line.hash(&mut state.trace);
            if let Some(lines) = &mut state.lines {
                lines.push(line);
            }
        });
    }

    /// An invariant does not hold; the first time counts.
    pub(super) fn breaks(&self, invariant: &'static str, how: Arguments<'_>) {
        self.line(format_args!("{invariant} DOES NOT HOLD: {how}"));
        self.with(|state| {
            state
                .broken
                .entry(invariant)
                .or_insert_with(|| how.to_string());
        });
    }

    pub(super) fn trace(&self) -> (u64, Vec<String>) {
        self.with(|state| (state.trace.finish(), state.lines.take().unwrap_or_default()))
    }
}
