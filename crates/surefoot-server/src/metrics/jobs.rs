//! Counters and histograms of what happens to jobs, fed by the engine's events. An event costs a look-up by kind and
//! an atomic addition: it is called on the engine's own tasks.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use surefoot::{Event, Observer};
use surefoot_core::id::Kind;
use surefoot_core::job::{AttemptOutcome, DeadReason};
use surefoot_core::port::Enqueued;

use super::door::DoorMetrics;
use super::effects::EffectMetrics;
use super::http::HttpMetrics;
use super::labels::Names;
use super::messages::MessageMetrics;

/// The most kinds with series of their own; further ones are counted as `other`.
pub(crate) const KINDS_MAX: usize = 100;

/// Bounds of the histograms, in seconds: from a millisecond to six hours.
const BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0, 120.0, 600.0, 3600.0, 21600.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindOutcome {
    kind: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabel {
    verb: &'static str,
}

/// What this process counts. Hand it to the engine, the front door and the relay as their observer, and to the
/// router.
pub struct Metrics {
    registry: Registry,
    families: Families,
    kinds: Names,
    series: RwLock<HashMap<String, Arc<KindSeries>>>,
    pub(super) http: HttpMetrics,
    pub(super) door: DoorMetrics,
    pub(super) messages: MessageMetrics,
}

#[derive(Clone)]
struct Families {
    enqueued: Family<KindOutcome, Counter>,
    claimed: Family<KindLabel, Counter>,
    attempts: Family<KindOutcome, Counter>,
    wait: Family<KindLabel, Histogram, fn() -> Histogram>,
    duration: Family<KindLabel, Histogram, fn() -> Histogram>,
    leases_lost: Family<KindLabel, Counter>,
    abandoned: Family<KindLabel, Counter>,
    dead_letters: Family<ReasonLabel, Counter>,
    stale_writes: Counter,
    settlements_dropped: Counter,
    store_errors: Family<VerbLabel, Counter>,
    effects: EffectMetrics,
}

/// The series of one kind, looked up once.
struct KindSeries {
    enqueued: [Counter; 3],
    claimed: Counter,
    attempts: [Counter; AttemptOutcome::ALL.len()],
    wait: Histogram,
    duration: Histogram,
    leases_lost: Counter,
    abandoned: Counter,
}

pub(super) fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

/// An alert on a growing counter would miss the first dead letter of a reason whose series begins at one.
fn every_reason_at_zero() -> Family<ReasonLabel, Counter> {
    let family = Family::default();
    for reason in DeadReason::ALL {
        let label = ReasonLabel {
            reason: reason.as_str(),
        };
        drop(family.get_or_create_owned(&label));
    }
    family
}

impl Default for Families {
    fn default() -> Self {
        Self {
            enqueued: Family::default(),
            claimed: Family::default(),
            attempts: Family::default(),
            wait: Family::new_with_constructor(histogram),
            duration: Family::new_with_constructor(histogram),
            leases_lost: Family::default(),
            abandoned: Family::default(),
            dead_letters: every_reason_at_zero(),
            stale_writes: Counter::default(),
            settlements_dropped: Counter::default(),
            store_errors: Family::default(),
            effects: EffectMetrics::default(),
        }
    }
}

impl Families {
    fn register(&self, registry: &mut Registry) {
        let own = registry.sub_registry_with_prefix("surefoot");
        own.register(
            "jobs_enqueued",
            "Jobs handed in, by what became of them",
            self.enqueued.clone(),
        );
        own.register(
            "jobs_claimed",
            "Jobs claimed, by the engine or for pull workers",
            self.claimed.clone(),
        );
        own.register(
            "attempts",
            "Attempts that ended, by outcome",
            self.attempts.clone(),
        );
        own.register_with_unit(
            "job_wait",
            "From enqueue to the first claim, the time until run_at included",
            Unit::Seconds,
            self.wait.clone(),
        );
        own.register_with_unit(
            "attempt_duration",
            "From claim to end",
            Unit::Seconds,
            self.duration.clone(),
        );
        own.register(
            "leases_lost",
            "Handlers that ran under a lease no longer theirs",
            self.leases_lost.clone(),
        );
        own.register(
            "handlers_abandoned",
            "Handlers that did not end after their time-out",
            self.abandoned.clone(),
        );
        own.register(
            "jobs_died",
            "Jobs that became dead letters, by reason",
            self.dead_letters.clone(),
        );
        own.register(
            "stale_writes_refused",
            "Settlements refused for a stale epoch",
            self.stale_writes.clone(),
        );
        own.register(
            "settlements_dropped",
            "Settlements that the store could not write and that were given up",
            self.settlements_dropped.clone(),
        );
        own.register(
            "store_errors",
            "Failed calls of the store, by verb",
            self.store_errors.clone(),
        );
        self.effects.register(own);
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        own.register("build", "The build that runs", Info::new(version));
    }

    fn of_kind(&self, kind: &str) -> KindSeries {
        let label = KindLabel {
            kind: kind.to_owned(),
        };
        let with = |outcome| KindOutcome {
            kind: kind.to_owned(),
            outcome,
        };
        KindSeries {
            enqueued: ENQUEUED.map(|outcome| self.enqueued.get_or_create_owned(&with(outcome))),
            claimed: self.claimed.get_or_create_owned(&label),
            attempts: AttemptOutcome::ALL
                .map(|outcome| self.attempts.get_or_create_owned(&with(outcome.as_str()))),
            wait: self.wait.get_or_create_owned(&label),
            duration: self.duration.get_or_create_owned(&label),
            leases_lost: self.leases_lost.get_or_create_owned(&label),
            abandoned: self.abandoned.get_or_create_owned(&label),
        }
    }
}

/// The outcomes of an enqueue, in the order of [`enqueued_place`].
const ENQUEUED: [&str; 3] = ["created", "existing", "conflict"];

const fn enqueued_place(answer: Enqueued) -> usize {
    match answer {
        Enqueued::Created(_) => 0,
        Enqueued::Existing(_) => 1,
        Enqueued::Conflict(_) => 2,
    }
}

impl KindSeries {
    fn ended(&self, outcome: AttemptOutcome, took: Duration) {
        let place = AttemptOutcome::ALL
            .iter()
            .position(|known| *known == outcome);
        if let Some(counter) = place.and_then(|place| self.attempts.get(place)) {
            counter.inc();
        }
        self.duration.observe(took.as_secs_f64());
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Everything at zero.
    #[must_use]
    pub fn new() -> Self {
        let families = Families::default();
        let (http, door) = (HttpMetrics::default(), DoorMetrics::default());
        let mut registry = Registry::default();
        families.register(&mut registry);
        http.register(&mut registry);
        door.register(registry.sub_registry_with_prefix("surefoot"));
        let messages = MessageMetrics::default();
        messages.register(registry.sub_registry_with_prefix("surefoot"));
        Self {
            registry,
            families,
            kinds: Names::up_to(KINDS_MAX),
            series: RwLock::default(),
            http,
            door,
            messages,
        }
    }

    /// A call of the store failed.
    pub(super) fn store_error(&self, verb: &'static str) {
        let errors = &self.families.store_errors;
        errors.get_or_create(&VerbLabel { verb }).inc();
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// A kind's label value: its name, or `other`.
    pub(super) fn fold_kind<'a>(&self, kind: &'a str) -> &'a str {
        self.kinds.fold(kind)
    }

    fn of(&self, kind: &Kind) -> Arc<KindSeries> {
        let name = kind.as_str();
        if let Some(series) = self
            .series
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
        {
            return Arc::clone(series);
        }
        let label = self.fold_kind(name);
        let mut all = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let series = all
            .entry(label.to_owned())
            .or_insert_with(|| Arc::new(self.families.of_kind(label)));
        Arc::clone(series)
    }
}

impl Observer for Metrics {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::Enqueued { kind, answer, .. } => {
                if let Some(counter) = self.of(kind).enqueued.get(enqueued_place(*answer)) {
                    counter.inc();
                }
            }
            Event::Claimed { job, wait } => {
                let series = self.of(&job.kind);
                series.claimed.inc();
                if let Some(wait) = wait {
                    series.wait.observe(wait.as_secs_f64());
                }
            }
            Event::AttemptEnded {
                job, outcome, took, ..
            } => self.of(&job.kind).ended(*outcome, *took),
            Event::DeadLetter { reason, .. } => {
                self.families
                    .dead_letters
                    .get_or_create(&ReasonLabel {
                        reason: reason.as_str(),
                    })
                    .inc();
            }
            Event::LeaseLost { kind, .. } => {
                self.of(kind).leases_lost.inc();
            }
            Event::StaleWrite { .. } => {
                self.families.stale_writes.inc();
            }
            Event::Abandoned { kind, .. } => {
                self.of(kind).abandoned.inc();
            }
            Event::SettlementDropped { .. } => {
                self.families.settlements_dropped.inc();
            }
            Event::EffectVerified { verdict, .. } => self.families.effects.verified(verdict),
            Event::EffectDisputed { .. } => self.families.effects.disputed(),
            Event::EffectNeedsHuman { .. } => self.families.effects.needs_human(),
            Event::StoreError { verb, .. } => {
                self.store_error(verb);
            }
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
