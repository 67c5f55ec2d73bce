//! The front door's half of a world: real guards and reconcilers on several nodes over one store in memory, clients that
//! repeat, crowd, change their body and go away, and a service that acts and loses answers.
//!
//! The database's clock does not jump here, and a handler acts through calls that look at their deadline, or at once: what a
//! process does that stood still in the middle of its own work is beyond any guard.

mod check;
mod client;
mod door;
mod ledger;
mod plan;
mod run;
mod service;

pub(super) use client::Told;
pub(super) use plan::Plan;
pub(super) use run::run;
