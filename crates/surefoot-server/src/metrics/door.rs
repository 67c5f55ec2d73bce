//! What becomes of requests at the front door. Every outcome has its series from the beginning, so that an alert sees the
//! first one. Labels are words of ours: no key, path or tenant becomes one.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use surefoot_core::effect::Witness;
use surefoot_core::request::End;
use surefoot_http::mark::Status;
use surefoot_http::{DoorEvent, DoorObserver, Resolved, Round, Said, problem};

use super::jobs::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// A word of a witness: whose, what, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WordLabel {
    by: &'static str,
    said: &'static str,
    outcome: &'static str,
}

/// Who tells a node what became of a request.
const WITNESSES: [&str; 2] = ["caller", "person"];
/// What they may say.
const WORDS: [&str; 2] = ["happened", "did_not_happen"];
/// What may become of it.
const BECAME: [&str; 4] = ["settled", "same", "disputed", "too_early"];

#[derive(Clone)]
pub(super) struct DoorMetrics {
    answered: Family<OutcomeLabel, Counter>,
    runs: Family<OutcomeLabel, Counter>,
    leases_lost: Counter,
    not_recorded: Counter,
    given_up: Counter,
    disputed: Counter,
    unguarded: Counter,
    rounds: Counter,
    reconciled: Family<OutcomeLabel, Counter>,
    forgotten: Counter,
    resolved: Family<WordLabel, Counter>,
}

/// A family with each of these outcomes at zero.
fn at_zero(outcomes: impl IntoIterator<Item = &'static str>) -> Family<OutcomeLabel, Counter> {
    let family = Family::default();
    for outcome in outcomes {
        drop(family.get_or_create_owned(&OutcomeLabel { outcome }));
    }
    family
}

/// Every word of every witness, at zero.
fn words_at_zero() -> Family<WordLabel, Counter> {
    let family = Family::default();
    for by in WITNESSES {
        for said in WORDS {
            for outcome in BECAME {
                drop(family.get_or_create_owned(&WordLabel { by, said, outcome }));
            }
        }
    }
    family
}

impl Default for DoorMetrics {
    fn default() -> Self {
        let own = [
            Said::Bare,
            Said::NotRecorded,
            Said::Service(Status::Executed),
            Said::Service(Status::Replayed),
            Said::Service(Status::Ignored),
        ];
        let of_guard = problem::ALL.iter().map(|kind| Said::Guard(kind));
        Self {
            answered: at_zero(own.into_iter().chain(of_guard).map(Said::as_str)),
            runs: at_zero(End::WORDS),
            leases_lost: Counter::default(),
            not_recorded: Counter::default(),
            given_up: Counter::default(),
            disputed: Counter::default(),
            unguarded: Counter::default(),
            rounds: Counter::default(),
            reconciled: at_zero(Round::default().outcomes().map(|(outcome, _)| outcome)),
            forgotten: Counter::default(),
            resolved: words_at_zero(),
        }
    }
}

impl DoorMetrics {
    /// `registry` is the one of this project's own names.
    pub(super) fn register(&self, registry: &mut Registry) {
        let families = [
            (
                "requests",
                "Answers of the front door, by what became of the key",
                &self.answered,
            ),
            ("requests_run", "Runs that ended, by how", &self.runs),
            (
                "requests_reconciled",
                "Requests of unknown outcome that were looked at, by what came of it",
                &self.reconciled,
            ),
        ];
        for (name, help, family) in families {
            registry.register(name, help, family.clone());
        }
        registry.register(
            "requests_resolved",
            "What witnesses said became of requests, by whom, and what became of their word",
            self.resolved.clone(),
        );
        let counters = [
            (
                "requests_leases_lost",
                "Runs that went on after their lease",
                &self.leases_lost,
            ),
            (
                "requests_not_recorded",
                "Runs whose end could not be written down while their client waited",
                &self.not_recorded,
            ),
            (
                "requests_given_up",
                "Runs whose end was never written down",
                &self.given_up,
            ),
            (
                "requests_disputed",
                "Requests of which two witnesses said different things",
                &self.disputed,
            ),
            (
                "requests_unguarded",
                "Runs without a claim, as their route waives, while the store was away",
                &self.unguarded,
            ),
            (
                "requests_reconcile_rounds",
                "Rounds of looking for requests of unknown outcome",
                &self.rounds,
            ),
            (
                "requests_forgotten",
                "Answers and keys that were taken away when their time was over",
                &self.forgotten,
            ),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
    }

    /// A witness said something else than the one before.
    pub(super) fn disputed(&self) {
        self.disputed.inc();
    }

    fn round(&self, round: &Round) {
        self.rounds.inc();
        self.forgotten.inc_by(round.forgotten);
        for (outcome, count) in round.outcomes() {
            add(&self.reconciled, outcome, count);
        }
    }
}

fn add(family: &Family<OutcomeLabel, Counter>, outcome: &'static str, count: u64) {
    family
        .get_or_create(&OutcomeLabel { outcome })
        .inc_by(count);
}

impl Metrics {
    /// A witness said what became of a request, and this became of the word. What found no request says nothing and is not
    /// counted.
    pub(crate) fn request_resolved(&self, by: &Witness, said: &'static str, resolved: &Resolved) {
        let by = match by {
            Witness::Person(_) => "person",
            Witness::Caller(_) | Witness::Answer | Witness::Query => "caller",
        };
        let outcome = match resolved {
            Resolved::Settled(_) | Resolved::Same(_) | Resolved::TooEarly { .. } => {
                resolved.as_str()
            }
            Resolved::Disputed(_) => {
                self.door.disputed();
                resolved.as_str()
            }
            Resolved::NoVerdict | Resolved::NotFound => return,
        };
        let label = WordLabel { by, said, outcome };
        self.door.resolved.get_or_create(&label).inc();
    }
}

impl DoorObserver for Metrics {
    fn on(&self, event: &DoorEvent<'_>) {
        let door = &self.door;
        match event {
            DoorEvent::Answered { said, .. } => add(&door.answered, said.as_str(), 1),
            DoorEvent::RunEnded { end, .. } => add(&door.runs, end.as_str(), 1),
            DoorEvent::LeaseLost { .. } => {
                door.leases_lost.inc();
            }
            DoorEvent::NotRecorded { .. } => {
                door.not_recorded.inc();
            }
            DoorEvent::RecordGivenUp { .. } => {
                door.given_up.inc();
            }
            DoorEvent::Disputed { .. } => door.disputed(),
            DoorEvent::RanUnguarded { .. } => {
                door.unguarded.inc();
            }
            DoorEvent::Reconciled(round) => door.round(round),
            DoorEvent::StoreError { verb, .. } => self.store_error(verb),
        }
    }
}
