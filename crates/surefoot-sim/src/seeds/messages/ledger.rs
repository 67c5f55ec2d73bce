//! What was committed, what each sink was given and what its consumer applied, whoever delivered it and lives or not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use surefoot_core::id::{Epoch, OrderKey, SinkName};
use surefoot_core::message::{Message, MessageNumber};
use surefoot_core::port::DeliveryId;
use surefoot_core::time::Timestamp;

/// A message to a sink, by the id of the message.
pub(super) type To = (SinkName, String);

/// See the module. Clones are the same ledger.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    rate: f64,
    committed: Vec<Committed>,
    given: BTreeMap<To, u32>,
    applied: BTreeMap<To, u32>,
    departed: BTreeMap<DeliveryId, u32>,
    held: BTreeMap<DeliveryId, Epoch>,
    skipped: BTreeSet<To>,
    mended: BTreeSet<To>,
    landing: Vec<Landing>,
}

/// A message of a commit.
#[derive(Clone, Debug)]
pub(super) struct Committed {
    pub(super) id: String,
    pub(super) key: Option<OrderKey>,
}

/// Something that a sink applies later, whatever becomes of its caller.
#[derive(Clone, Debug)]
pub(super) struct Landing {
    pub(super) at: Timestamp,
    pub(super) sink: SinkName,
    pub(super) message: Message,
}

impl Ledger {
    fn with<T>(&self, visit: impl FnOnce(&mut State) -> T) -> T {
        visit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on the sinks misbehave this often.
    pub(super) fn trouble(&self, rate: f64) {
        self.with(|state| state.rate = rate);
    }

    pub(super) fn rate(&self) -> f64 {
        self.with(|state| state.rate)
    }

    pub(super) fn commit(&self, message: &Message) {
        let committed = Committed {
            id: message.id.as_str().to_owned(),
            key: message.key.clone(),
        };
        self.with(|state| state.committed.push(committed));
    }

    /// All that was committed, in this order.
    pub(super) fn committed(&self) -> Vec<Committed> {
        self.with(|state| state.committed.clone())
    }

    /// A sink is given a message; answers how often by now.
    pub(super) fn give(&self, to: &To) -> u32 {
        self.with(|state| {
            let given = state.given.entry(to.clone()).or_default();
            *given += 1;
            *given
        })
    }

    pub(super) fn given(&self, to: &To) -> u32 {
        self.with(|state| state.given.get(to).copied().unwrap_or_default())
    }

    /// A take gave a delivery under this epoch.
    pub(super) fn hold(&self, sink: &SinkName, number: MessageNumber, epoch: Epoch) {
        let sink = sink.clone();
        self.with(|state| state.held.insert(DeliveryId { number, sink }, epoch));
    }

    /// The epoch of the latest take of a delivery.
    pub(super) fn held(&self, delivery: &DeliveryId) -> Option<Epoch> {
        self.with(|state| state.held.get(delivery).copied())
    }

    /// A relay said that a delivery leaves, and that is on record.
    pub(super) fn depart(&self, delivery: &DeliveryId) {
        self.with(|state| *state.departed.entry(delivery.clone()).or_default() += 1);
    }

    pub(super) fn departed(&self, delivery: &DeliveryId) -> u32 {
        self.with(|state| state.departed.get(delivery).copied().unwrap_or_default())
    }

    pub(super) fn apply(&self, to: &To) {
        self.with(|state| *state.applied.entry(to.clone()).or_default() += 1);
    }

    pub(super) fn applied(&self, to: &To) -> u32 {
        self.with(|state| state.applied.get(to).copied().unwrap_or_default())
    }

    pub(super) fn skip(&self, to: &To) {
        self.with(|state| state.skipped.insert(to.clone()));
    }

    pub(super) fn is_skipped(&self, to: &To) -> bool {
        self.with(|state| state.skipped.contains(to))
    }

    /// What made a message impossible is out of the way.
    pub(super) fn mend(&self, to: &To) {
        self.with(|state| state.mended.insert(to.clone()));
    }

    pub(super) fn is_mended(&self, to: &To) -> bool {
        self.with(|state| state.mended.contains(to))
    }

    pub(super) fn land(&self, landing: Landing) {
        self.with(|state| state.landing.push(landing));
    }

    /// What lands until now, in the order of time.
    pub(super) fn landed(&self, now: Timestamp) -> Vec<Landing> {
        self.with(|state| {
            let all = std::mem::take(&mut state.landing);
            let (mut landed, rest): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|landing| landing.at <= now);
            state.landing = rest;
            landed.sort_by_key(|landing| landing.at);
            landed
        })
    }
}
