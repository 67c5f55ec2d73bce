//! What was counted of messages, for OTLP. It is read from the counters of `/metrics` with each export, so that the two say
//! the same and nothing is counted twice.

use std::sync::Arc;

use opentelemetry::KeyValue;
use surefoot_server::{MessageCounts, Metrics};

/// A count with its labels.
type Line = ([Option<KeyValue>; 2], u64);

/// Exports what these metrics count of messages, for as long as the process runs.
pub(crate) fn export_messages(metrics: &Arc<Metrics>) {
    let meter = opentelemetry::global::meter("surefoot");
    let export = |name: &'static str, what: &'static str, lines: fn(MessageCounts) -> Vec<Line>| {
        let metrics = Arc::clone(metrics);
        let counter = meter.u64_observable_counter(name).with_description(what);
        let _exported = counter
            .with_callback(move |observer| {
                for (labels, count) in lines(metrics.message_counts()) {
                    let labels: Vec<KeyValue> = labels.into_iter().flatten().collect();
                    observer.observe(count, &labels);
                }
            })
            .build();
    };
    export(
        "surefoot.messages.appended",
        "Messages handed to the API, by what became of them",
        |counts| {
            let lines = counts.appended.into_iter();
            lines
                .map(|(outcome, count)| ([Some(KeyValue::new("outcome", outcome)), None], count))
                .collect()
        },
    );
    export(
        "surefoot.deliveries",
        "Tries to deliver a message that ended, by how",
        |counts| of_sinks(counts.tries, "outcome"),
    );
    export(
        "surefoot.deliveries.steered",
        "Orders of people on parked deliveries, by the API",
        |counts| of_sinks(counts.steered, "verb"),
    );
}

fn of_sinks(counts: Vec<(String, &'static str, u64)>, word: &'static str) -> Vec<Line> {
    let line = |(sink, value, count)| {
        let labels = [
            Some(KeyValue::new("sink", sink)),
            Some(KeyValue::new(word, value)),
        ];
        (labels, count)
    };
    counts.into_iter().map(line).collect()
}
