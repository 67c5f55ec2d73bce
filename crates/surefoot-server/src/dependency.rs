//! What the API shows of the services that this process calls, and how it steers their breakers: a port, for what protects
//! the calls lives elsewhere. The types are plain data; nothing here calls anything.

use std::time::Duration;

use surefoot_core::port::By;
use surefoot_core::time::Timestamp;

/// The services that this process calls.
pub trait Dependencies: Send + Sync + 'static {
    /// What each looks like at this moment, by name.
    fn all(&self) -> Vec<DependencyView>;

    /// Does to the breaker of `name` what somebody asks, in this process; what it looks like then, or `None` when there is
    /// no such service.
    fn steer(
        &self,
        name: &str,
        order: BreakerOrder,
        by: &By,
        now: Timestamp,
    ) -> Option<DependencyView>;

    /// What was counted since the start, for `/metrics`.
    fn counts(&self) -> Vec<DependencyCount>;
}

/// What somebody asks of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerOrder {
    /// Turn every call away until told otherwise.
    ForcedOpen,
    /// Close with an empty window, and go on by the configuration.
    Closed,
    /// Let every call pass and count nothing until told otherwise.
    Disabled,
    /// Count, and let every call pass until told otherwise.
    MetricsOnly,
    /// Go on as configured, whatever was asked before.
    Auto,
}

/// What a service looks like at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct DependencyView {
    /// Its name.
    pub name: String,
    /// How much depends on it: `critical`, `degradable` or `optional`.
    pub criticality: &'static str,
    /// Its breaker.
    pub breaker: BreakerView,
    /// How many extra sends the retry budget still pays for; `None` where there is no budget.
    pub budget_left: Option<u64>,
    /// How many calls are out, and wait for a place.
    pub out: u32,
    /// How many calls wait for a place.
    pub waiting: u32,
    /// How many may be out.
    pub limit: u32,
    /// How long the service still asked to be left alone; zero when it did not.
    pub gate_left: Duration,
    /// Calls since the start.
    pub calls: CallCounts,
}

/// What a breaker looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakerView {
    /// `closed`, `open`, `half_open`, `forced_open`, `disabled` or `metrics_only`.
    pub state: &'static str,
    /// How long it stays open by itself; zero in every other state.
    pub open_left: Duration,
    /// How many changes it has seen.
    pub generation: u32,
    /// How many probes are out.
    pub probes_out: usize,
    /// Calls in its window.
    pub window_calls: u64,
    /// Those of them that failed.
    pub window_failed: u64,
    /// Those of them that were slow.
    pub window_slow: u64,
    /// Who steered it last and when, unless it goes on by itself.
    pub steered: Option<(By, Timestamp)>,
}

/// Calls by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// They succeeded.
    pub succeeded: u64,
    /// They failed.
    pub failed: u64,
    /// They were turned away before anything was sent.
    pub rejected: u64,
}

/// One count for `/metrics`.
#[derive(Clone, Debug, PartialEq)]
pub struct DependencyCount {
    /// What is counted, with dots, such as `surefoot.dependency.calls`.
    pub name: &'static str,
    /// The service.
    pub dependency: String,
    /// A further label and its word, from closed sets; two empty texts when there is none.
    pub label: (&'static str, &'static str),
    /// The count.
    pub value: f64,
}

/// A process that calls none.
#[derive(Clone, Copy, Debug)]
pub struct NoDependencies;

impl Dependencies for NoDependencies {
    fn all(&self) -> Vec<DependencyView> {
        Vec::new()
    }

    fn steer(&self, _: &str, _: BreakerOrder, _: &By, _: Timestamp) -> Option<DependencyView> {
        None
    }

    fn counts(&self) -> Vec<DependencyCount> {
        Vec::new()
    }
}
