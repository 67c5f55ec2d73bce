//! Services that this process calls, as others see them, and what people say about their breakers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::by::ByBody;
use super::text::Text;
use super::time::WireTime;
use crate::dependency::{BreakerOrder, BreakerView, DependencyView};

/// The services that this process calls, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct DependencyList {
    dependencies: Vec<DependencyRecord>,
}

/// One service as this process sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = Dependency)]
pub(crate) struct DependencyRecord {
    /// Its name.
    name: String,
    /// How much depends on it: `critical`, `degradable` or `optional`.
    criticality: &'static str,
    /// Its breaker.
    breaker: BreakerRecord,
    /// How many extra sends the retry budget still pays for; `null` where there is no budget.
    #[schema(required)]
    budget_left: Option<u64>,
    /// How many calls may be out, are out, and wait.
    bulkhead: BulkheadRecord,
    /// How long the service still asked to be left alone; 0 when it did not.
    gate_left_ms: u64,
    /// Calls since the start of this process.
    calls: CallCountsRecord,
}

/// A breaker.
#[derive(Serialize, ToSchema)]
#[schema(as = Breaker)]
struct BreakerRecord {
    /// `closed`, `open`, `half_open`, `forced_open`, `disabled` or `metrics_only`.
    state: &'static str,
    /// How long it stays open by itself; 0 in every other state.
    open_left_ms: u64,
    /// How many changes it has seen.
    generation: u32,
    /// How many probes are out.
    probes_out: usize,
    /// What its window holds.
    window: WindowRecord,
    /// Who steered it last, unless it goes on by itself.
    #[schema(required)]
    steered: Option<SteeredRecord>,
}

/// Calls in the window of a breaker.
#[derive(Serialize, ToSchema)]
#[schema(as = BreakerWindow)]
struct WindowRecord {
    calls: u64,
    failed: u64,
    slow: u64,
}

/// Who steered a breaker.
#[derive(Serialize, ToSchema)]
#[schema(as = BreakerSteered)]
struct SteeredRecord {
    /// When.
    at: WireTime,
    /// Who.
    actor: String,
    /// Why.
    reason: String,
}

/// The places for calls.
#[derive(Serialize, ToSchema)]
#[schema(as = Bulkhead)]
struct BulkheadRecord {
    limit: u32,
    out: u32,
    waiting: u32,
}

/// Calls by how they ended.
#[derive(Serialize, ToSchema)]
#[schema(as = CallCounts)]
struct CallCountsRecord {
    succeeded: u64,
    failed: u64,
    /// Turned away before anything was sent.
    rejected: u64,
}

/// What somebody asks of a breaker.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SteerBreaker)]
pub(crate) struct BreakerBody {
    /// What it shall do.
    pub(crate) state: BreakerOrderBody,
    /// Who asks: 1 to 128 printable bytes.
    actor: Option<String>,
    /// Why, for whoever reads it.
    reason: Option<Text>,
}

/// What a breaker shall do.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = BreakerOrder)]
pub(crate) enum BreakerOrderBody {
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

impl BreakerBody {
    /// Who asks and why.
    pub(crate) fn into_by_body(self) -> ByBody {
        ByBody {
            actor: self.actor,
            reason: self.reason,
        }
    }
}

impl From<BreakerOrderBody> for BreakerOrder {
    fn from(order: BreakerOrderBody) -> Self {
        match order {
            BreakerOrderBody::ForcedOpen => Self::ForcedOpen,
            BreakerOrderBody::Closed => Self::Closed,
            BreakerOrderBody::Disabled => Self::Disabled,
            BreakerOrderBody::MetricsOnly => Self::MetricsOnly,
            BreakerOrderBody::Auto => Self::Auto,
        }
    }
}

pub(crate) fn dependency_list(views: Vec<DependencyView>) -> DependencyList {
    DependencyList {
        dependencies: views.into_iter().map(DependencyRecord::from).collect(),
    }
}

impl From<DependencyView> for DependencyRecord {
    fn from(view: DependencyView) -> Self {
        Self {
            name: view.name,
            criticality: view.criticality,
            breaker: view.breaker.into(),
            budget_left: view.budget_left,
            bulkhead: BulkheadRecord {
                limit: view.limit,
                out: view.out,
                waiting: view.waiting,
            },
            gate_left_ms: millis(view.gate_left),
            calls: CallCountsRecord {
                succeeded: view.calls.succeeded,
                failed: view.calls.failed,
                rejected: view.calls.rejected,
            },
        }
    }
}

impl From<BreakerView> for BreakerRecord {
    fn from(view: BreakerView) -> Self {
        Self {
            state: view.state,
            open_left_ms: millis(view.open_left),
            generation: view.generation,
            probes_out: view.probes_out,
            window: WindowRecord {
                calls: view.window_calls,
                failed: view.window_failed,
                slow: view.window_slow,
            },
            steered: view.steered.map(|(by, at)| SteeredRecord {
                at: at.into(),
                actor: by.actor.to_string(),
                reason: by.reason.to_string(),
            }),
        }
    }
}

/// Rounded up, so that what is left is never shown as nothing.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
