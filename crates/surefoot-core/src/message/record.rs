//! What is appended to the outbox. A message never changes.

use std::collections::BTreeSet;

use crate::id::{MessageId, OrderKey, Tenant, Topic};
use crate::job::TraceContext;
use crate::payload::Payload;
use crate::time::Timestamp;

/// An event that others are told of. (tenant, id) makes it one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Made by whoever appends it, and the same each time that the append is repeated and the message is delivered: what a
    /// consumer deduplicates by.
    pub id: MessageId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What it is about: sinks choose by it.
    pub topic: Topic,
    /// Messages of one key are delivered to each sink one after the other, in the order in which they were appended, within
    /// the tenant. Without a key there is no order.
    pub key: Option<OrderKey>,
    /// What it says.
    pub payload: Payload,
    /// The trace context of what appended it.
    pub trace: Option<TraceContext>,
    /// When it was appended, by the caller's clock.
    pub appended_at: Timestamp,
}

impl Message {
    /// Whether this is the same message appended again: all but the time and the trace, which differ when whoever appends
    /// it starts anew.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.id == other.id
            && self.tenant == other.tenant
            && self.topic == other.topic
            && self.key == other.key
            && self.payload.same_as(&other.payload)
    }
}

/// The place of a message in the order of arrival in its store. It is given once and never comes back. It says nothing of
/// what was delivered: a message that arrives late may have a low number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageNumber(pub i64);

/// Which messages a sink wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topics {
    /// Those of every topic.
    All,
    /// Those of these topics, at most [`Topics::NAMED_MAX`].
    Named(BTreeSet<Topic>),
}

impl Topics {
    /// The most topics that are named for one sink.
    pub const NAMED_MAX: usize = 100;

    /// These topics.
    #[must_use]
    pub fn named(topics: impl IntoIterator<Item = Topic>) -> Self {
        Self::Named(topics.into_iter().collect())
    }

    /// Whether a topic is among them.
    #[must_use]
    pub fn hold(&self, topic: &Topic) -> bool {
        match self {
            Self::All => true,
            Self::Named(topics) => topics.contains(topic),
        }
    }
}
