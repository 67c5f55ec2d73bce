//! Sinks: how much is open for each.

use serde::Serialize;
use surefoot_core::port::{PAGE_MAX, SinkDepth};
use utoipa::ToSchema;

use super::time::WireTime;

/// The sinks that are on record or have something open, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct SinkList {
    /// At most 500 sinks.
    sinks: Vec<SinkRecord>,
    /// There may be further sinks.
    more: bool,
}

/// How much is open for one sink.
#[derive(Serialize, ToSchema)]
#[schema(as = Sink)]
struct SinkRecord {
    /// Its name.
    sink: String,
    /// Deliveries that wait, those behind others under their key with them.
    waiting: u64,
    /// Deliveries that a relay has.
    taken: u64,
    /// Deliveries that wait for a person.
    parked: u64,
    /// When the message was appended that is open the longest, in whatever state: how far the sink is behind.
    #[schema(required)]
    oldest_at: Option<WireTime>,
    /// Since when the delivery is parked that is so the longest.
    #[schema(required)]
    oldest_parked_at: Option<WireTime>,
}

pub(crate) fn sink_list(depths: &[SinkDepth]) -> SinkList {
    SinkList {
        sinks: depths.iter().map(SinkRecord::from).collect(),
        more: depths.len() >= usize::try_from(PAGE_MAX).unwrap_or(usize::MAX),
    }
}

impl From<&SinkDepth> for SinkRecord {
    fn from(depth: &SinkDepth) -> Self {
        Self {
            sink: depth.sink.to_string(),
            waiting: depth.waiting,
            taken: depth.taken,
            parked: depth.parked,
            oldest_at: depth.oldest.map(WireTime),
            oldest_parked_at: depth.oldest_parked.map(WireTime),
        }
    }
}
