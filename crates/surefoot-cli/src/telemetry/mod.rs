//! What is seen from outside: structured logs on standard error, and traces and metrics over OTLP where an endpoint is
//! configured. Nothing here ever makes the engine wait: what cannot be sent in time is dropped.
//!
//! [`Telemetry`] sets it up and takes it down, [`NodeObserver`] and [`DoorWatch`] hear what happens, [`meters`] counts it
//! for OTLP under the names of `/metrics`, with dots for underscores, and [`export_messages`] hands on what is counted of
//! messages.

mod door;
mod messages;
mod meters;
mod observer;
mod setup;

pub(crate) use door::DoorWatch;
pub(crate) use messages::export_messages;
pub(crate) use observer::NodeObserver;
pub(crate) use setup::{LogOptions, Telemetry};
