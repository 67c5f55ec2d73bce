//! Gauges of what is open for each sink, from one look of the store. Sinks beyond the limit are told as one: their counts
//! are added up, and of their ages the greatest is told.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use surefoot_core::message::DeliveryStateName;
use surefoot_core::port::SinkDepth;
use surefoot_core::time::Timestamp;

use super::messages::MessageMetrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OpenLabel {
    sink: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SinkLabel {
    sink: String,
}

/// What is told under one label.
#[derive(Default)]
struct Open {
    waiting: u64,
    taken: u64,
    parked: u64,
    oldest: Option<Timestamp>,
    oldest_parked: Option<Timestamp>,
}

/// `own` is the registry of this project's own names.
pub(super) fn register(
    own: &mut Registry,
    depths: &[SinkDepth],
    metrics: &MessageMetrics,
    now: Timestamp,
) {
    let open: Family<OpenLabel, Gauge> = Family::default();
    let oldest: Family<SinkLabel, Gauge<f64, AtomicU64>> = Family::default();
    let oldest_parked: Family<SinkLabel, Gauge<f64, AtomicU64>> = Family::default();
    for (sink, told) in folded(depths, metrics) {
        for (state, count) in [
            (DeliveryStateName::Waiting, told.waiting),
            (DeliveryStateName::Taken, told.taken),
            (DeliveryStateName::Parked, told.parked),
        ] {
            let label = OpenLabel {
                sink: sink.clone(),
                state: state.as_str(),
            };
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            open.get_or_create(&label).set(count);
        }
        let age = |since: Option<Timestamp>| since.map_or(0.0, |at| now.since(at).as_secs_f64());
        let label = SinkLabel { sink };
        oldest.get_or_create(&label).set(age(told.oldest));
        oldest_parked
            .get_or_create(&label)
            .set(age(told.oldest_parked));
    }
    own.register(
        "deliveries_open",
        "Deliveries that wait, that a relay has, or that wait for a person",
        open,
    );
    own.register_with_unit(
        "oldest_open_delivery_age",
        "Since when the message is appended that is open the longest; 0 when none is",
        Unit::Seconds,
        oldest,
    );
    own.register_with_unit(
        "oldest_parked_delivery_age",
        "How long the delivery is parked that is so the longest; 0 when none is",
        Unit::Seconds,
        oldest_parked,
    );
}

fn folded(depths: &[SinkDepth], metrics: &MessageMetrics) -> BTreeMap<String, Open> {
    let mut all: BTreeMap<String, Open> = BTreeMap::new();
    for depth in depths {
        let sink = metrics.fold_sink(&depth.sink).to_owned();
        let told = all.entry(sink).or_default();
        told.waiting += depth.waiting;
        told.taken += depth.taken;
        told.parked += depth.parked;
        told.oldest = earlier(told.oldest, depth.oldest);
        told.oldest_parked = earlier(told.oldest_parked, depth.oldest_parked);
    }
    all
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use surefoot_core::id::SinkName;

    use super::*;
    use crate::metrics::messages::SINKS_MAX;

    #[test]
    fn however_many_sinks_there_are_the_series_are_bounded_and_nothing_is_lost() {
        let at = |micros: usize| Timestamp::from_micros(i64::try_from(micros).unwrap());
        let depth = |number: usize| SinkDepth {
            sink: SinkName::new(format!("s{number}")).unwrap(),
            waiting: 1,
            taken: 2,
            parked: 3,
            oldest: (number != 149).then(|| at(1000 - number)),
            oldest_parked: None,
        };
        let depths: Vec<SinkDepth> = (0..150).map(depth).collect();
        let all = folded(&depths, &MessageMetrics::default());
        assert_eq!(all.len(), SINKS_MAX + 1);
        let (waiting, taken, parked) = all.values().fold((0, 0, 0), |sum, open| {
            (
                sum.0 + open.waiting,
                sum.1 + open.taken,
                sum.2 + open.parked,
            )
        });
        assert_eq!((waiting, taken, parked), (150, 300, 450));
        let other = &all["other"];
        assert_eq!((other.waiting, other.oldest), (50, Some(at(1000 - 148))));
        assert_eq!(other.oldest_parked, None);
    }
}
