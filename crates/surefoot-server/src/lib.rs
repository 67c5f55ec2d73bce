//! Shows and steers Surefoot over HTTP: a JSON API with problem documents, server-sent events, OpenAPI 3.1 and
//! metrics, over a [`surefoot::Client`].
//!
//! It decides nothing and remembers nothing: what is durable is in the store. It never answers more than is known: a
//! request whose outcome nobody knows is answered as such. It never leaves the machine without a token.
//!
//! - [`router`] makes the API, [`requests_router`] the part of it that is about the front door, [`serve`] serves it,
//!   [`check_listen`] says on which addresses that may be.
//! - [`Dependencies`] is what the API shows of the services that this process calls.
//! - [`documents`] are the API's answers for other surfaces.
//! - [`status_text`] says in a sentence, in the reader's [`Language`], what a job's state means; a service of one's own shows
//!   the same words.
//! - [`Metrics`] is the observer that the engine, the front door and the relay report to and `/metrics` shows.
//!
//! `/healthz`, `/readyz`, `/openapi.json` and the pages of problem types need no token; all else does where tokens are
//! configured, `/metrics` included.

mod auth;
mod body;
mod dependency;
pub mod documents;
mod extract;
mod language;
mod listen;
mod metrics;
mod openapi;
mod options;
mod origin;
mod problem;
mod router;
mod routes;
mod serve;
mod standing;
mod state;
mod status_text;
mod token;
mod wire;

pub use dependency::{
    BreakerOrder, BreakerView, CallCounts, Dependencies, DependencyCount, DependencyView,
    NoDependencies,
};
pub use language::Language;
pub use listen::{ListenRefused, check_listen};
pub use metrics::{MessageCounts, Metrics};
pub use options::{Readiness, ServerOptions};
pub use router::{REQUESTS_MAX, requests_router, router};
pub use serve::{CONNECTIONS_MAX, GRACE, HEAD_BYTES_MAX, HEAD_TIMEOUT, WRITE_TIMEOUT, serve};
pub use standing::may_have_happened;
pub use status_text::{StatusFacts, status_text};
pub use token::{Token, TokenError};
