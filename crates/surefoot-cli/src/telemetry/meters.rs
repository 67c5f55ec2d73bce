//! What the engine does, counted for OTLP. The names are those of `/metrics` with dots for underscores; without a
//! meter provider everything here does nothing.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use surefoot::Event;
use surefoot_core::id::Kind;
use surefoot_core::port::Enqueued;

/// The bounds of the histograms, in seconds.
const BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0, 120.0, 600.0, 3600.0, 21600.0,
];

/// The instruments.
pub(super) struct Meters {
    enqueued: Counter<u64>,
    claimed: Counter<u64>,
    attempts: Counter<u64>,
    died: Counter<u64>,
    leases_lost: Counter<u64>,
    abandoned: Counter<u64>,
    stale_writes: Counter<u64>,
    settlements_dropped: Counter<u64>,
    store_errors: Counter<u64>,
    effects_verified: Counter<u64>,
    effects_disputed: Counter<u64>,
    effects_need_human: Counter<u64>,
    wait: Histogram<f64>,
    duration: Histogram<f64>,
}

impl Meters {
    pub(super) fn new(meter: &Meter) -> Self {
        let counter = |name: &'static str, what: &'static str| {
            meter.u64_counter(name).with_description(what).build()
        };
        let seconds = |name: &'static str, what: &'static str| {
            let histogram = meter
                .f64_histogram(name)
                .with_unit("s")
                .with_description(what);
            histogram.with_boundaries(BUCKETS.to_vec()).build()
        };
        Self {
            enqueued: counter(
                "surefoot.jobs.enqueued",
                "Jobs handed in, by what became of them",
            ),
            claimed: counter(
                "surefoot.jobs.claimed",
                "Jobs claimed, by the engine or for pull workers",
            ),
            attempts: counter("surefoot.attempts", "Attempts that ended, by outcome"),
            died: counter(
                "surefoot.jobs.died",
                "Jobs that became dead letters, by reason",
            ),
            leases_lost: counter(
                "surefoot.leases.lost",
                "Handlers that ran under a lease no longer theirs",
            ),
            abandoned: counter(
                "surefoot.handlers.abandoned",
                "Handlers that did not end after their time-out",
            ),
            stale_writes: counter(
                "surefoot.stale_writes.refused",
                "Settlements refused for a stale epoch",
            ),
            settlements_dropped: counter(
                "surefoot.settlements.dropped",
                "Settlements that the store could not write and that were given up",
            ),
            store_errors: counter(
                "surefoot.store.errors",
                "Failed calls of the store, by verb",
            ),
            effects_verified: counter(
                "surefoot.effects.verified",
                "Verifications of unknown outcomes, by verdict",
            ),
            effects_disputed: counter(
                "surefoot.effects.disputed",
                "Effects of which two witnesses said different things",
            ),
            effects_need_human: counter(
                "surefoot.effects.need_human",
                "Effects that wait for a person",
            ),
            wait: seconds("surefoot.job.wait", "From enqueue to the first claim"),
            duration: seconds("surefoot.attempt.duration", "From claim to end"),
        }
    }

    pub(super) fn on(&self, event: &Event<'_>) {
        match *event {
            Event::Enqueued { kind, answer, .. } => {
                self.enqueued.add(
                    1,
                    &[of_kind(kind), KeyValue::new("outcome", enqueued(answer))],
                );
            }
            Event::Claimed { job, wait } => {
                self.claimed.add(1, &[of_kind(&job.kind)]);
                if let Some(wait) = wait {
                    self.wait.record(seconds(wait), &[of_kind(&job.kind)]);
                }
            }
            Event::AttemptEnded {
                job, outcome, took, ..
            } => {
                let labels = [
                    of_kind(&job.kind),
                    KeyValue::new("outcome", outcome.as_str()),
                ];
                self.attempts.add(1, &labels);
                self.duration.record(seconds(took), &labels);
            }
            Event::DeadLetter { reason, .. } => self
                .died
                .add(1, &[KeyValue::new("reason", reason.as_str())]),
            Event::LeaseLost { kind, .. } => self.leases_lost.add(1, &[of_kind(kind)]),
            Event::Abandoned { kind, .. } => self.abandoned.add(1, &[of_kind(kind)]),
            Event::StaleWrite { .. } => self.stale_writes.add(1, &[]),
            Event::SettlementDropped { .. } => self.settlements_dropped.add(1, &[]),
            Event::EffectVerified { verdict, .. } => self
                .effects_verified
                .add(1, &[KeyValue::new("verdict", verdict.as_str())]),
            Event::EffectDisputed { .. } => self.effects_disputed.add(1, &[]),
            Event::EffectNeedsHuman { .. } => self.effects_need_human.add(1, &[]),
            Event::StoreError { verb, .. } => {
                self.store_errors.add(1, &[KeyValue::new("verb", verb)])
            }
        }
    }
}

/// The SDK folds what goes beyond its limit of label sets into one.
fn of_kind(kind: &Kind) -> KeyValue {
    KeyValue::new("kind", kind.to_string())
}

const fn enqueued(answer: Enqueued) -> &'static str {
    match answer {
        Enqueued::Created(_) => "created",
        Enqueued::Existing(_) => "existing",
        Enqueued::Conflict(_) => "conflict",
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
