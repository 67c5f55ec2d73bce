//! Messages: what the outbox keeps until it is delivered, and what the inbox has accepted. What follows from an answer of
//! a sink is decided here ([`delivered_or_not`]), by a pure function of the delivery, the answer, the time and a roll; stores
//! keep what was decided ([`crate::port::Messages`]). Nothing here sends, waits or reads a clock.
//!
//! - [`Message`], [`Topics`]: what is appended, and who wants it. [`Delivery`], [`DeliveryState`]: one message to one sink.
//! - [`DeliveryPolicy`]: how a sink is delivered to. [`Receipt`]: one message that one consumer has accepted.
//!
//! A message that was appended is delivered to each of its sinks, or stands visibly parked, or a person skipped it with a
//! reason: nothing else ends a delivery.

mod decide;
mod delivery;
mod policy;
mod receipt;
mod record;

pub use decide::{DELAY_MAX, NextDelivery, delivered_or_not, given_back, lost_too_often};
pub use delivery::{Delivery, DeliveryState, DeliveryStateName, Proof};
pub use policy::{DeliveryPolicy, PER_KEY_MAX};
pub use receipt::{Accepted, Receipt};
pub use record::{Message, MessageNumber, Topics};

#[cfg(test)]
mod tests;
