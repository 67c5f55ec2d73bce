//! Hears what happens at the front door: it counts for `/metrics` and for OTLP. The guard logs by itself.

use std::sync::Arc;

use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;
use surefoot_http::{DoorEvent, DoorObserver, Round};
use surefoot_server::Metrics;

/// The observer of a front door.
pub(crate) struct DoorWatch {
    metrics: Arc<Metrics>,
    meters: DoorMeters,
}

/// The instruments.
struct DoorMeters {
    answered: Counter<u64>,
    runs: Counter<u64>,
    leases_lost: Counter<u64>,
    not_recorded: Counter<u64>,
    given_up: Counter<u64>,
    disputed: Counter<u64>,
    unguarded: Counter<u64>,
    rounds: Counter<u64>,
    reconciled: Counter<u64>,
    forgotten: Counter<u64>,
    store_errors: Counter<u64>,
}

impl DoorWatch {
    /// Counts for `/metrics` and for OTLP.
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        let meter = opentelemetry::global::meter("surefoot");
        let counter = |name: &'static str, what: &'static str| {
            meter.u64_counter(name).with_description(what).build()
        };
        let meters = DoorMeters {
            answered: counter(
                "surefoot.requests",
                "Answers of the front door, by what became of the key",
            ),
            runs: counter("surefoot.requests.run", "Runs that ended, by how"),
            leases_lost: counter(
                "surefoot.requests.leases_lost",
                "Runs that went on after their lease",
            ),
            not_recorded: counter(
                "surefoot.requests.not_recorded",
                "Runs whose end could not be written down while their client waited",
            ),
            given_up: counter(
                "surefoot.requests.given_up",
                "Runs whose end was never written down",
            ),
            disputed: counter(
                "surefoot.requests.disputed",
                "Requests of which two witnesses said different things",
            ),
            unguarded: counter(
                "surefoot.requests.unguarded",
                "Runs without a claim, as their route waives, while the store was away",
            ),
            rounds: counter(
                "surefoot.requests.reconcile_rounds",
                "Rounds of looking for requests of unknown outcome",
            ),
            reconciled: counter(
                "surefoot.requests.reconciled",
                "Requests of unknown outcome that were looked at, by what came of it",
            ),
            forgotten: counter(
                "surefoot.requests.forgotten",
                "Answers and keys that were taken away when their time was over",
            ),
            store_errors: counter(
                "surefoot.store.errors",
                "Failed calls of the store, by verb",
            ),
        };
        Self { metrics, meters }
    }
}

impl DoorObserver for DoorWatch {
    fn on(&self, event: &DoorEvent<'_>) {
        DoorObserver::on(&*self.metrics, event);
        self.meters.on(event);
    }
}

impl DoorMeters {
    fn on(&self, event: &DoorEvent<'_>) {
        match *event {
            DoorEvent::Answered { said, .. } => self.answered.add(1, &[outcome(said.as_str())]),
            DoorEvent::RunEnded { end, .. } => self.runs.add(1, &[outcome(end.as_str())]),
            DoorEvent::LeaseLost { .. } => self.leases_lost.add(1, &[]),
            DoorEvent::NotRecorded { .. } => self.not_recorded.add(1, &[]),
            DoorEvent::RecordGivenUp { .. } => self.given_up.add(1, &[]),
            DoorEvent::Disputed { .. } => self.disputed.add(1, &[]),
            DoorEvent::RanUnguarded { .. } => self.unguarded.add(1, &[]),
            DoorEvent::Reconciled(round) => self.round(round),
            DoorEvent::StoreError { verb, .. } => {
                self.store_errors.add(1, &[KeyValue::new("verb", verb)]);
            }
        }
    }

    fn round(&self, round: &Round) {
        self.rounds.add(1, &[]);
        self.forgotten.add(round.forgotten, &[]);
        for (word, count) in round.outcomes() {
            if count > 0 {
                self.reconciled.add(count, &[outcome(word)]);
            }
        }
    }
}

fn outcome(word: &'static str) -> KeyValue {
    KeyValue::new("outcome", word)
}
