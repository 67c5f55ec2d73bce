//! All messages, who wants them, and what is appended. Who is in front of a key is looked up and never kept.

use std::collections::{BTreeMap, BTreeSet};

use surefoot_core::id::{Epoch, MessageId, SinkName, Tenant, Topic};
use surefoot_core::message::{
    Accepted, Delivery, DeliveryState, Message, MessageNumber, Receipt, Topics,
};
use surefoot_core::port::{Appended, BACKFILL_MAX, DeliveryOrder, Since, Subscribed};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

#[derive(Clone, Default)]
pub(in crate::memory) struct MessageTable {
    pub(super) messages: BTreeMap<MessageNumber, Message>,
    pub(super) ids: BTreeMap<(Tenant, MessageId), MessageNumber>,
    pub(super) sinks: BTreeMap<SinkName, Subscription>,
    pub(super) deliveries: BTreeMap<(SinkName, MessageNumber), Row>,
    pub(super) orders: BTreeMap<MessageNumber, Vec<DeliveryOrder>>,
    pub(super) receipts: BTreeMap<Receipt, Timestamp>,
    pub(super) last_number: i64,
    pub(super) last_place: u64,
    pub(super) last_epoch: i64,
}

/// The topics of a sink.
#[derive(Clone, Default)]
pub(super) struct Subscription {
    all: bool,
    named: BTreeSet<Topic>,
}

#[derive(Clone)]
pub(super) struct Row {
    /// The order in which deliveries were made: that of a line.
    pub(super) place: u64,
    pub(super) delivery: Delivery,
    /// The earliest time, which a take leaves as it is.
    pub(super) due_at: Timestamp,
    /// Why the latest try failed.
    pub(super) error: Option<ErrorText>,
    /// The epoch of the latest take.
    pub(super) epoch: Epoch,
    /// The epoch under which it was last said that it leaves.
    pub(super) departed: Epoch,
}

impl Subscription {
    fn holds(&self, topic: &Topic) -> bool {
        self.all || self.named.contains(topic)
    }
}

impl Row {
    fn new(place: u64, sink: &SinkName, number: MessageNumber, due_at: Timestamp) -> Self {
        Self {
            place,
            delivery: Delivery {
                sink: sink.clone(),
                number,
                failed: 0,
                lost: 0,
                state: DeliveryState::Waiting {
                    due_at,
                    error: None,
                },
            },
            due_at,
            error: None,
            epoch: Epoch::NEVER,
            departed: Epoch::NEVER,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.delivery.state.name().is_ended()
    }

    /// Waits, untried or tried, from when it is due.
    pub(super) fn wait(&mut self) {
        self.delivery.state = DeliveryState::Waiting {
            due_at: self.due_at,
            error: self.error.clone(),
        };
    }
}

impl MessageTable {
    pub(super) fn append(&mut self, message: &Message) -> Appended {
        let identity = (message.tenant.clone(), message.id.clone());
        if let Some(number) = self.ids.get(&identity).copied() {
            let same = self
                .messages
                .get(&number)
                .is_some_and(|known| known.same_as(message));
            return if same {
                Appended::Already(number)
            } else {
                Appended::Conflict(number)
            };
        }
        self.last_number += 1;
        let number = MessageNumber(self.last_number);
        self.ids.insert(identity, number);
        self.messages.insert(number, message.clone());
        let sinks: Vec<_> = self
            .sinks
            .iter()
            .filter(|(_, topics)| topics.holds(&message.topic))
            .map(|(sink, _)| sink.clone())
            .collect();
        for sink in sinks {
            self.deliver(&sink, number, message.appended_at);
        }
        Appended::Written(number)
    }

    pub(super) fn subscribe(
        &mut self,
        sink: &SinkName,
        topics: &Topics,
        since: Since,
    ) -> Subscribed {
        let known = self.sinks.get(sink).cloned().unwrap_or_default();
        let new: Vec<_> = self
            .messages
            .iter()
            .filter(|(number, message)| {
                since == Since::Kept
                    && topics.hold(&message.topic)
                    && !known.holds(&message.topic)
                    && !self.deliveries.contains_key(&(sink.clone(), **number))
            })
            .map(|(number, message)| (*number, message.appended_at))
            .collect();
        if new.len() as u64 > BACKFILL_MAX {
            return Subscribed::TooMany;
        }
        if *topics == Topics::named([]) {
            return Subscribed::Done { backfilled: 0 };
        }
        let subscription = self.sinks.entry(sink.clone()).or_default();
        match topics {
            Topics::All => subscription.all = true,
            Topics::Named(topics) => subscription.named.extend(topics.iter().cloned()),
        }
        for (number, due_at) in &new {
            self.deliver(sink, *number, *due_at);
        }
        Subscribed::Done {
            backfilled: new.len() as u64,
        }
    }

    pub(super) fn unsubscribe(&mut self, sink: &SinkName, topics: &Topics) -> bool {
        let Some(subscription) = self.sinks.get_mut(sink) else {
            return false;
        };
        match topics {
            Topics::All => {
                self.sinks.remove(sink);
                true
            }
            Topics::Named(topics) => {
                let before = subscription.named.len();
                subscription.named.retain(|topic| !topics.contains(topic));
                let changed = subscription.named.len() < before;
                if !subscription.all && subscription.named.is_empty() {
                    self.sinks.remove(sink);
                }
                changed
            }
        }
    }

    fn deliver(&mut self, sink: &SinkName, number: MessageNumber, due_at: Timestamp) {
        self.last_place += 1;
        let row = Row::new(self.last_place, sink, number, due_at);
        self.deliveries.insert((sink.clone(), number), row);
    }

    /// The open deliveries of the line that a delivery stands in, in their order: of its key, or itself alone.
    pub(super) fn line(&self, sink: &SinkName, number: MessageNumber) -> Vec<MessageNumber> {
        let Some(message) = self.messages.get(&number) else {
            return Vec::new();
        };
        let mut line: Vec<_> = self
            .deliveries
            .iter()
            .filter(|((to, other), row)| {
                to == sink && row.is_open() && {
                    let same_key = self.messages.get(other).is_some_and(|other| {
                        other.key.is_some()
                            && other.key == message.key
                            && other.tenant == message.tenant
                    });
                    *other == number || same_key
                }
            })
            .map(|((_, other), row)| (row.place, *other))
            .collect();
        line.sort_unstable();
        line.into_iter().map(|(_, other)| other).collect()
    }

    pub(super) fn accept(&mut self, receipt: &Receipt, now: Timestamp) -> Accepted {
        match self.receipts.get(receipt) {
            Some(at) => Accepted::Duplicate { at: *at },
            None => {
                self.receipts.insert(receipt.clone(), now);
                Accepted::First
            }
        }
    }
}
