//! Messages of the outbox as others see them. A field that does not apply to the state is `null`, never absent.

use serde::Serialize;
use surefoot_core::id::Epoch;
use surefoot_core::message::{Delivery, DeliveryState, Message, MessageNumber};
use surefoot_core::port::{DeliveryOrder, MessageRecord};
use utoipa::ToSchema;

use super::json::RawJson;
use super::time::WireTime;
use super::word::{DeliveryStateWord, DeliveryVerbWord};

/// What a message is, apart from what it says.
#[derive(Serialize, ToSchema)]
pub(super) struct MessageHead {
    /// What makes it one message, within its tenant: the same each time that it is delivered.
    id: String,
    /// Whose it is.
    tenant: String,
    /// Its place in the order of arrival.
    number: i64,
    /// What it is about.
    topic: String,
    /// Messages of one key are delivered to each sink one after the other, in the order in which they were appended.
    #[schema(required)]
    key: Option<String>,
    /// When it was appended.
    appended_at: WireTime,
}

impl MessageHead {
    pub(super) fn of(number: MessageNumber, message: &Message) -> Self {
        Self {
            id: message.id.to_string(),
            tenant: message.tenant.to_string(),
            number: number.0,
            topic: message.topic.to_string(),
            key: message.key.as_ref().map(ToString::to_string),
            appended_at: message.appended_at.into(),
        }
    }
}

/// A message of the outbox, and what became of it at each sink.
#[derive(Serialize, ToSchema)]
#[schema(as = Message)]
pub(crate) struct MessageDocument {
    #[serde(flatten)]
    head: MessageHead,
    /// What it says, byte for byte.
    payload: RawJson,
    /// The W3C trace context of whoever appended it.
    #[schema(required)]
    traceparent: Option<String>,
    /// Its deliveries that are on record, by sink; none where no sink wants its topic.
    deliveries: Vec<DeliveryRecord>,
    /// What people ordered about them, in the order of time; the latest 1000.
    orders: Vec<DeliveryOrderRecord>,
}

impl From<&MessageRecord> for MessageDocument {
    fn from(record: &MessageRecord) -> Self {
        let message = &record.message;
        let trace = message.trace.as_ref();
        Self {
            head: MessageHead::of(record.number, message),
            payload: RawJson(message.payload.clone()),
            traceparent: trace.map(|trace| trace.as_str().to_owned()),
            deliveries: record.deliveries.iter().map(DeliveryRecord::from).collect(),
            orders: record
                .orders
                .iter()
                .map(DeliveryOrderRecord::from)
                .collect(),
        }
    }
}

/// One message to one sink.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
struct DeliveryRecord {
    /// Where to.
    sink: String,
    /// Its state.
    state: DeliveryStateWord,
    /// How many tries failed since it was appended, or since a person had it tried again.
    failed: u32,
    /// How many times its holder was lost since then.
    lost: u32,
    /// The earliest time of the next try, while it waits; those before it under its key come first.
    #[schema(required)]
    due_at: Option<WireTime>,
    /// Why the latest try failed, or why it is parked.
    #[schema(required)]
    error: Option<String>,
    /// When it was delivered, parked or skipped.
    #[schema(required)]
    since: Option<WireTime>,
    /// Which relay has it.
    #[schema(required)]
    holder: Option<String>,
    /// What fences the word of that relay.
    #[schema(required)]
    epoch: Option<i64>,
    /// After this another relay may take it.
    #[schema(required)]
    lease_until: Option<WireTime>,
    /// What the sink said that shows that it has the message.
    #[schema(required)]
    proof: Option<String>,
    /// Who skipped it.
    #[schema(required)]
    actor: Option<String>,
    /// Why it was skipped.
    #[schema(required)]
    reason: Option<String>,
}

impl From<&Delivery> for DeliveryRecord {
    fn from(delivery: &Delivery) -> Self {
        let bare = Self {
            sink: delivery.sink.to_string(),
            state: DeliveryStateWord(delivery.state.name()),
            failed: delivery.failed,
            lost: delivery.lost,
            due_at: None,
            error: None,
            since: None,
            holder: None,
            epoch: None,
            lease_until: None,
            proof: None,
            actor: None,
            reason: None,
        };
        match &delivery.state {
            DeliveryState::Waiting { due_at, error } => Self {
                due_at: Some((*due_at).into()),
                error: error.as_ref().map(ToString::to_string),
                ..bare
            },
            DeliveryState::Taken {
                holder,
                epoch: Epoch(epoch),
                lease_until,
            } => Self {
                holder: Some(holder.to_string()),
                epoch: Some(*epoch),
                lease_until: Some((*lease_until).into()),
                ..bare
            },
            DeliveryState::Delivered { at, proof } => Self {
                since: Some((*at).into()),
                proof: Some(proof.as_str().to_owned()),
                ..bare
            },
            DeliveryState::Parked { at, error } => Self {
                since: Some((*at).into()),
                error: Some(error.to_string()),
                ..bare
            },
            DeliveryState::Skipped { at, by } => Self {
                since: Some((*at).into()),
                actor: Some(by.actor.to_string()),
                reason: Some(by.reason.to_string()),
                ..bare
            },
        }
    }
}

/// What a person ordered about a delivery.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryOrder)]
struct DeliveryOrderRecord {
    /// To which sink.
    sink: String,
    /// What.
    verb: DeliveryVerbWord,
    /// When.
    at: WireTime,
    /// Who.
    actor: String,
    /// Why.
    reason: String,
}

impl From<&DeliveryOrder> for DeliveryOrderRecord {
    fn from(order: &DeliveryOrder) -> Self {
        Self {
            sink: order.sink.to_string(),
            verb: DeliveryVerbWord(order.verb),
            at: order.at.into(),
            actor: order.by.actor.to_string(),
            reason: order.by.reason.to_string(),
        }
    }
}
