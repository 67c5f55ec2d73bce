//! Requests over HTTP: the service that is measured, in its several forms, and the clients that ask it. Everything stays on
//! the loopback and in this process.

mod clients;
mod service;

pub(crate) use clients::{Asked, Ends, Expected, ask};
pub(crate) use service::{Running, bare, by_hand, guarded, selecting};
