//! Runs HTTP kinds: kinds whose work is one call of a service, declared in the configuration and not written in Rust.
//!
//! - [`HttpKind`] is the handler: one attempt is at most one call. It never repeats a call by itself and follows no
//!   redirect, for both would be calls that nobody counted.
//! - [`Clients`] keeps one client for each dependency. [`answer`] reads what came back, [`fault`] says what a call
//!   without an answer means, [`traceparent`] carries the trace on, [`seen`] is the call's span and duration.
//!
//! Sent along: `Idempotency-Key` (the provider key as it is, without the quotes of the IETF draft, because that is
//! what providers take), `traceparent`, `X-Surefoot-Attempt`, and the configured headers.

mod answer;
mod clients;
mod fault;
mod kind;
mod seen;
mod traceparent;

pub(crate) use clients::{ClientError, Clients, choose_tls};
pub(crate) use kind::HttpKind;

#[cfg(test)]
mod tests;
