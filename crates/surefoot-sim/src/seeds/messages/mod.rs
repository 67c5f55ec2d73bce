//! The outbox's part of a world: real relays on several nodes over one store in memory, transactions that commit late, sinks
//! that fail, are silent, panic and apply late, consumers with an inbox, and people who look at what is parked.
//!
//! The store in memory has no transactions: what commits late is appended when it commits, with the time at which it began.

mod check;
mod gated;
mod ledger;
mod node;
mod people;
mod plan;
mod run;
mod sink;

pub(super) use plan::Plan;
pub(super) use run::run;
