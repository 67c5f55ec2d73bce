//! What others are told of an order. An event is appended in the transaction that makes it true, so there is never one of what
//! did not happen, and none is missing.

use serde::{Deserialize, Serialize};
use surefoot::Outcome;
use surefoot::core::id::{MessageId, OrderKey, Topic};
use surefoot::core::job::TraceContext;
use surefoot::core::message::Message;
use surefoot::core::payload::Payload;
use surefoot::core::time::Timestamp;

use crate::orders::{Order, OrderState};

/// The topic of orders that were placed.
pub const PLACED: &str = "order.placed";
/// The topic of orders that were paid.
pub const PAID: &str = "order.paid";
/// The topic of orders that were declined.
pub const DECLINED: &str = "order.declined";

/// What an event says besides its topic and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderEvent {
    /// Which order.
    pub order: String,
    /// What it costs.
    pub cents: u64,
}

/// The event of an order as it stands. Its id is made of what it tells, so telling it twice is one message; its key keeps the
/// events of one order in their order.
///
/// # Errors
/// None is known: an order has an id, and its event is small.
pub fn event(order: &Order, trace: Option<TraceContext>, now: Timestamp) -> Outcome<Message> {
    let topic = match order.state {
        OrderState::Placed => PLACED,
        OrderState::Paid { .. } => PAID,
        OrderState::Declined => DECLINED,
    };
    let says = OrderEvent {
        order: order.id.clone(),
        cents: order.cents,
    };
    Ok(Message {
        id: MessageId::new(format!("{topic}:{}", order.id))?,
        tenant: order.customer.clone(),
        topic: Topic::new(topic)?,
        key: Some(OrderKey::new(&order.id)?),
        payload: Payload::from_serialize(&says)?,
        trace,
        appended_at: now,
    })
}
