//! Runs HTTP kinds: kinds whose work is one call of a service, declared in the configuration and not written in Rust.
//!
//! - [`HttpKind`] is the handler: one attempt is at most one call, the job's one effect, through the policy of its dependency
//!   and sent more than once only where that policy says so. It follows no redirect, for that would be a call that nobody
//!   counted.
//! - [`LiveDependencies`] is the live state of each dependency, [`Clients`] keeps its clients.
//! - [`exchange`] is one request with its answer and the [`body`] of it; [`answer`] says what an answer means, [`fault`] what a
//!   call without one means, [`broken`] what that shows the policy, [`told`] what the end of the whole call means for the job,
//!   [`question`] what a provider says when it is asked. [`traceparent`] carries the trace on, [`seen`] is the call's span
//!   and duration.
//!
//! Sent along: `Idempotency-Key` (the provider key as it is, without the quotes of the IETF draft, because that is
//! what providers take), `traceparent`, `X-Surefoot-Attempt`, the time that is left, who retries, and the configured headers.

mod answer;
mod body;
mod broken;
mod clients;
mod exchange;
mod fault;
mod kind;
mod live;
mod question;
mod seen;
mod told;
mod traceparent;

pub(crate) use clients::{ClientError, Clients, choose_tls};
pub(crate) use kind::HttpKind;
pub(crate) use live::LiveDependencies;

#[cfg(test)]
mod tests;
