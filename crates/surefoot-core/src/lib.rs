//! Says what may happen in Surefoot: states, transitions, ports and policies as data.
//!
//! Everything here is pure and deterministic: no clock, no randomness, no I/O, no runtime. Time and dice are
//! arguments ([`time::Timestamp`], [`time::Roll`]); what remembers is behind a port ([`port::Store`]).
//!
//! - [`job`]: a job, its states, its attempts. [`effect`]: what a job does outside. [`settle`]: what follows from an
//!   attempt.
//! - [`request`]: a request of the front door, from its claim to the answer that every repetition gets.
//! - [`message`]: a message of the outbox, its deliveries, and the receipt of the inbox.
//! - [`failure`], [`classify`], [`retry_after`]: what a failure means. [`backoff`], [`policy`], [`timeouts`]: how a
//!   kind is run. [`checklist`]: what must be answered before it is.
//! - [`payload`], [`canonical`], [`text`], [`id`]: checked values.

pub mod backoff;
pub mod canonical;
pub mod checklist;
pub mod classify;
pub mod effect;
pub mod error;
pub mod failure;
pub mod id;
pub mod job;
pub mod message;
pub mod payload;
pub mod policy;
pub mod port;
pub mod request;
pub mod retry_after;
pub mod settle;
pub mod text;
pub mod time;
pub mod timeouts;
