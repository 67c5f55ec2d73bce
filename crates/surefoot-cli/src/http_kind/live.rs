//! The live state of each dependency: one for the whole process, shared by all kinds that call it and by whoever looks at
//! it or steers it. It calls nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot_core::id::DependencyName;
use surefoot_core::port::By;
use surefoot_core::time::Timestamp;
use surefoot_policy::breaker::{BreakerMode, BreakerState, Force};
use surefoot_policy::metrics::{CALLS, Metrics, Reading};
use surefoot_policy::policy::InvalidPolicy;
use surefoot_policy::{Dependency, Policy};
use surefoot_server::{
    BreakerOrder, BreakerView, CallCounts, Dependencies, DependencyCount, DependencyView,
};

use crate::config;

/// The dependencies of this node, by name; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveDependencies {
    by_name: Arc<BTreeMap<DependencyName, Live>>,
    metrics: Metrics,
}

#[derive(Debug)]
struct Live {
    dependency: Dependency,
    /// As the configuration has it, whatever somebody asked since.
    configured: Policy,
    steered: Mutex<Option<(By, Timestamp)>>,
}

impl LiveDependencies {
    /// Those of a configuration, none of which was called yet.
    ///
    /// # Errors
    /// [`InvalidPolicy`], which a checked configuration does not hold.
    pub(crate) fn new(declared: &[Arc<config::Dependency>]) -> Result<Self, InvalidPolicy> {
        let metrics = Metrics::default();
        let live = |declared: &Arc<config::Dependency>| {
            let (name, policy) = (declared.name.clone(), declared.policy.clone());
            let dependency = Dependency::new(name.as_str(), policy.clone())?;
            metrics.watch(&dependency);
            let live = Live {
                dependency,
                configured: policy,
                steered: Mutex::default(),
            };
            Ok((name, live))
        };
        let by_name = declared.iter().map(live).collect::<Result<_, _>>()?;
        Ok(Self {
            by_name: Arc::new(by_name),
            metrics,
        })
    }

    /// The one with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Dependency> {
        self.live(name).map(|live| &live.dependency)
    }

    fn live(&self, name: &str) -> Option<&Live> {
        self.by_name.get(&DependencyName::new(name).ok()?)
    }

    fn view(&self, live: &Live) -> DependencyView {
        let (status, policy) = (live.dependency.status(), live.dependency.policy());
        let open_left = match status.breaker {
            BreakerState::Open { left } => left,
            BreakerState::Closed
            | BreakerState::HalfOpen
            | BreakerState::ForcedOpen
            | BreakerState::Disabled
            | BreakerState::MetricsOnly => Duration::ZERO,
        };
        let name = live.dependency.name();
        let steered = live.steered.lock().unwrap_or_else(PoisonError::into_inner);
        DependencyView {
            name: name.to_owned(),
            criticality: policy.criticality.as_str(),
            breaker: BreakerView {
                state: status.breaker.as_str(),
                open_left,
                generation: status.generation,
                probes_out: status.probes_out,
                window_calls: status.window.total,
                window_failed: status.window.failed,
                window_slow: status.window.slow,
                steered: steered.clone(),
            },
            budget_left: policy.budget.enabled.then_some(status.budget_left),
            out: status.out,
            waiting: status.waiting,
            limit: status.limit,
            gate_left: status.gate_left,
            calls: calls(&self.metrics.read(), name),
        }
    }
}

impl Live {
    /// Puts the breaker into another mode, or leaves a state that somebody forced.
    fn steer(&self, order: BreakerOrder) {
        let (force, mode) = match order {
            BreakerOrder::ForcedOpen => (Force::Open, self.configured.breaker.mode),
            BreakerOrder::Disabled => (Force::Disable, self.configured.breaker.mode),
            BreakerOrder::MetricsOnly => (Force::Close, BreakerMode::MetricsOnly),
            BreakerOrder::Closed | BreakerOrder::Auto => {
                (Force::Close, self.configured.breaker.mode)
            }
        };
        let held = match self.dependency.status().breaker {
            BreakerState::ForcedOpen | BreakerState::Disabled | BreakerState::MetricsOnly => true,
            BreakerState::Closed | BreakerState::Open { .. } | BreakerState::HalfOpen => false,
        };
        let mut policy = self.configured.clone();
        policy.breaker.mode = mode;
        if let Err(refused) = self.dependency.reconfigure(policy) {
            tracing::error!(%refused, "a breaker could not be steered");
        }
        // What goes on by itself need not be closed to go on.
        if order != BreakerOrder::Auto || held {
            self.dependency.force(force);
        }
    }
}

impl Dependencies for LiveDependencies {
    fn all(&self) -> Vec<DependencyView> {
        self.by_name.values().map(|live| self.view(live)).collect()
    }

    fn steer(
        &self,
        name: &str,
        order: BreakerOrder,
        by: &By,
        now: Timestamp,
    ) -> Option<DependencyView> {
        let live = self.live(name)?;
        live.steer(order);
        let steered = match order {
            BreakerOrder::Auto => None,
            BreakerOrder::ForcedOpen
            | BreakerOrder::Closed
            | BreakerOrder::Disabled
            | BreakerOrder::MetricsOnly => Some((by.clone(), now)),
        };
        *live.steered.lock().unwrap_or_else(PoisonError::into_inner) = steered;
        Some(self.view(live))
    }

    fn counts(&self) -> Vec<DependencyCount> {
        let count = |reading: Reading| DependencyCount {
            name: reading.name,
            dependency: reading.dependency.to_string(),
            label: reading.label,
            value: reading.value,
        };
        self.metrics.read().into_iter().map(count).collect()
    }
}

fn calls(readings: &[Reading], name: &str) -> CallCounts {
    let of = |outcome| {
        readings
            .iter()
            .find(|reading| {
                reading.name == CALLS && *reading.dependency == *name && reading.label.1 == outcome
            })
            .map_or(0, |reading| whole(reading.value))
    };
    CallCounts {
        succeeded: of("succeeded"),
        failed: of("failed"),
        rejected: of("rejected"),
    }
}

/// A count that was added up as a number with a point.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are whole, not negative, and far below 2^53"
)]
const fn whole(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests {
    use surefoot_policy::metrics::{CALL_DURATION, NAMES};

    #[test]
    fn the_document_names_every_count_and_no_other() {
        let document = include_str!("../../../../docs/metrics.md");
        let mut named: Vec<&str> = document
            .lines()
            .filter_map(|line| {
                line.strip_prefix("| `surefoot_dependency_")?
                    .split_once('`')
            })
            .map(|(name, _)| name)
            .collect();
        let mut counted: Vec<String> = NAMES
            .map(|name| {
                let unit = if name == CALL_DURATION {
                    "_seconds"
                } else {
                    ""
                };
                let name = name.replace('.', "_").replace("surefoot_dependency_", "");
                format!("{name}{unit}_total")
            })
            .into();
        counted.push("breaker_state".to_owned());
        named.sort_unstable();
        counted.sort();
        assert_eq!(named, counted);
    }
}
