//! How a guard is set up: plain data with documented defaults.

use std::time::Duration;

use surefoot_core::id::Worker;
use surefoot_core::request::Horizon;

use crate::problem::ProblemTypes;
use crate::route::Routes;

/// How a guard is set up.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardOptions {
    /// The node's name on the requests that it runs: another for each start of a process.
    pub holder: Worker,
    /// How each route is guarded.
    pub routes: Routes,
    /// How many requests with a key may be under way at once, repetitions that wait for one included; further ones get 503.
    /// Default 4096.
    pub guarded_max: usize,
    /// The longest that one call of the store may take. Default 5 s.
    pub store_timeout: Duration,
    /// Who repeats requests, and for how long: checked against the clocks of each route.
    pub horizons: Vec<Horizon>,
    /// Where problems are explained.
    pub problems: ProblemTypes,
}

/// A guard that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guard contradicts itself: {}", .0.join("; "))]
pub struct GuardRefused(pub Vec<String>);

impl GuardOptions {
    /// The defaults for a node.
    #[must_use]
    pub fn new(holder: Worker) -> Self {
        Self {
            holder,
            routes: Routes::default(),
            guarded_max: 4096,
            store_timeout: Duration::from_secs(5),
            horizons: Vec::new(),
            problems: ProblemTypes::default(),
        }
    }

    /// Every contradiction, each with its remedy; empty when there is none.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = self.routes.validate(&self.horizons);
        if self.guarded_max == 0 {
            faults
                .push("guarded_max is 0, so no request could be served; set 1 or more".to_owned());
        }
        if self.store_timeout.is_zero() {
            faults.push(
                "store_timeout is 0, so the store could never answer; set 1s or more".to_owned(),
            );
        }
        faults
    }
}
