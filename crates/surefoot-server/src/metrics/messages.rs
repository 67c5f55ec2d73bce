//! What becomes of messages: those that were handed to the API, and the tries of a relay that reports here. Every outcome
//! of a sink has its series from when the sink is first seen, so that an alert sees the first one. Sinks beyond a limit are
//! counted as one; no topic, key, id or tenant becomes a label.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use surefoot::{RelayEvent, RelayObserver};
use surefoot_core::id::SinkName;
use surefoot_core::port::{Appended, DeliveryVerb};

use super::jobs::{Metrics, histogram};
use super::labels::Names;

/// The most sinks with series of their own; further ones are counted as `other`.
pub(super) const SINKS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SinkLabel {
    sink: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SinkOutcome {
    sink: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SinkVerb {
    sink: String,
    verb: &'static str,
}

/// How a try ended, as it is counted.
#[derive(Clone, Copy)]
enum Try {
    /// The sink has the message.
    Delivered,
    /// It certainly failed, and is repeated.
    Failed,
    /// Nobody knows whether the sink has it, and it is repeated.
    Unknown,
    /// A person decides.
    Parked,
    /// Another relay has taken it over.
    Stale,
    /// Its end could not be written down.
    NotRecorded,
}

impl Try {
    /// Each, in the order of the series.
    const ALL: [Self; 6] = [
        Self::Delivered,
        Self::Failed,
        Self::Unknown,
        Self::Parked,
        Self::Stale,
        Self::NotRecorded,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Parked => "parked",
            Self::Stale => "stale",
            Self::NotRecorded => "not_recorded",
        }
    }
}

/// The words for an append, each at zero from the beginning.
const APPENDED: [&str; 3] = ["written", "already", "conflict"];

pub(super) struct MessageMetrics {
    families: Families,
    sinks: Names,
    series: RwLock<HashMap<String, Arc<SinkSeries>>>,
}

struct Families {
    appended: Family<OutcomeLabel, Counter>,
    tries: Family<SinkOutcome, Counter>,
    steered: Family<SinkVerb, Counter>,
    took: Family<SinkLabel, Histogram, fn() -> Histogram>,
    age: Family<SinkLabel, Histogram, fn() -> Histogram>,
}

/// The series of one sink, looked up once.
struct SinkSeries {
    tries: [Counter; Try::ALL.len()],
    steered: [Counter; DeliveryVerb::ALL.len()],
    took: Histogram,
    age: Histogram,
}

impl Default for MessageMetrics {
    fn default() -> Self {
        let appended = Family::default();
        for outcome in APPENDED {
            drop(appended.get_or_create_owned(&OutcomeLabel { outcome }));
        }
        Self {
            families: Families {
                appended,
                tries: Family::default(),
                steered: Family::default(),
                took: Family::new_with_constructor(histogram),
                age: Family::new_with_constructor(histogram),
            },
            sinks: Names::up_to(SINKS_MAX),
            series: RwLock::default(),
        }
    }
}

impl MessageMetrics {
    /// `registry` is the one of this project's own names.
    pub(super) fn register(&self, registry: &mut Registry) {
        let families = &self.families;
        registry.register(
            "messages_appended",
            "Messages handed to the API, by what became of them",
            families.appended.clone(),
        );
        registry.register(
            "deliveries",
            "Tries to deliver a message that ended, by how",
            families.tries.clone(),
        );
        registry.register(
            "deliveries_steered",
            "Orders of people on parked deliveries, by the API",
            families.steered.clone(),
        );
        registry.register_with_unit(
            "delivery_duration",
            "How long a try took that delivered its message",
            Unit::Seconds,
            families.took.clone(),
        );
        registry.register_with_unit(
            "delivery_age",
            "From the append of a message to its delivery",
            Unit::Seconds,
            families.age.clone(),
        );
    }

    /// A sink's label value: its name, or `other`.
    pub(super) fn fold_sink<'a>(&self, sink: &'a SinkName) -> &'a str {
        self.sinks.fold(sink.as_str())
    }

    /// Makes the series of a sink, at zero, if it is new.
    pub(super) fn seen(&self, sink: &SinkName) {
        drop(self.of(sink));
    }

    fn of(&self, sink: &SinkName) -> Arc<SinkSeries> {
        let label = self.fold_sink(sink);
        let known = self.series.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(label) {
            return Arc::clone(series);
        }
        drop(known);
        let mut all = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let series = all
            .entry(label.to_owned())
            .or_insert_with(|| Arc::new(self.families.of_sink(label)));
        Arc::clone(series)
    }

    fn tried(&self, sink: &SinkName, ended: Try) {
        let [delivered, failed, unknown, parked, stale, not_recorded] = &self.of(sink).tries;
        let counter = match ended {
            Try::Delivered => delivered,
            Try::Failed => failed,
            Try::Unknown => unknown,
            Try::Parked => parked,
            Try::Stale => stale,
            Try::NotRecorded => not_recorded,
        };
        counter.inc();
    }

    fn failed(&self, sink: &SinkName, unknown: bool) {
        let ended = if unknown { Try::Unknown } else { Try::Failed };
        self.tried(sink, ended);
    }
}

impl Families {
    fn of_sink(&self, sink: &str) -> SinkSeries {
        let label = SinkLabel {
            sink: sink.to_owned(),
        };
        let outcome = |ended: Try| SinkOutcome {
            sink: sink.to_owned(),
            outcome: ended.as_str(),
        };
        let verb = |verb: DeliveryVerb| SinkVerb {
            sink: sink.to_owned(),
            verb: verb.as_str(),
        };
        SinkSeries {
            tries: Try::ALL.map(|ended| self.tries.get_or_create_owned(&outcome(ended))),
            steered: DeliveryVerb::ALL.map(|of| self.steered.get_or_create_owned(&verb(of))),
            took: self.took.get_or_create_owned(&label),
            age: self.age.get_or_create_owned(&label),
        }
    }
}

impl Metrics {
    /// A message was handed to the API.
    pub(crate) fn message_appended(&self, appended: Appended) {
        let outcome = match appended {
            Appended::Written(_) => "written",
            Appended::Already(_) => "already",
            Appended::Conflict(_) => "conflict",
        };
        let appended = &self.messages.families.appended;
        appended.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// A person steered a parked delivery.
    pub(crate) fn delivery_steered(&self, sink: &SinkName, verb: DeliveryVerb) {
        let series = self.messages.of(sink);
        let [again, skip] = &series.steered;
        match verb {
            DeliveryVerb::Again => again.inc(),
            DeliveryVerb::Skip => skip.inc(),
        };
    }
}

/// What was counted of messages since the start, for other exporters: label values, and how many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Messages handed to the API, by what became of them.
    pub appended: Vec<(&'static str, u64)>,
    /// Tries that ended, by sink and how.
    pub tries: Vec<(String, &'static str, u64)>,
    /// Orders of people, by sink and verb.
    pub steered: Vec<(String, &'static str, u64)>,
}

impl Metrics {
    /// What was counted of messages since the start.
    #[must_use]
    pub fn message_counts(&self) -> MessageCounts {
        let messages = &self.messages;
        let appended = APPENDED.map(|outcome| {
            let counter = &messages.families.appended;
            (
                outcome,
                counter.get_or_create(&OutcomeLabel { outcome }).get(),
            )
        });
        let mut counts = MessageCounts {
            appended: appended.into(),
            ..MessageCounts::default()
        };
        let all = messages.series.read();
        for (sink, series) in all.unwrap_or_else(PoisonError::into_inner).iter() {
            for (ended, counter) in Try::ALL.iter().zip(&series.tries) {
                let line = (sink.clone(), ended.as_str(), counter.get());
                counts.tries.push(line);
            }
            for (verb, counter) in DeliveryVerb::ALL.iter().zip(&series.steered) {
                let line = (sink.clone(), verb.as_str(), counter.get());
                counts.steered.push(line);
            }
        }
        counts
    }
}

impl RelayObserver for Metrics {
    fn on(&self, event: &RelayEvent<'_>) {
        let messages = &self.messages;
        match event {
            RelayEvent::Delivered {
                sink, took, age, ..
            } => {
                let series = messages.of(sink);
                series.took.observe(took.as_secs_f64());
                series.age.observe(age.as_secs_f64());
                messages.tried(sink, Try::Delivered);
            }
            RelayEvent::Failed { sink, unknown, .. } => messages.failed(sink, *unknown),
            RelayEvent::Parked { sink, .. } => messages.tried(sink, Try::Parked),
            RelayEvent::StaleMark { sink, .. } => messages.tried(sink, Try::Stale),
            RelayEvent::MarkDropped { sink, .. } => messages.tried(sink, Try::NotRecorded),
            RelayEvent::StoreError { verb, .. } => self.store_error(verb),
        }
    }
}
