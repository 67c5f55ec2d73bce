//! Protects one outbound call: deadline, retry under a budget, hedge, rate limit, breaker, bulkhead, attempt
//! time-out and fallback, as one value in one order. It stands alone: no database, no engine, no background task.
//! It must never send a call twice on a guess, and never hold a lock while it waits or tells anybody.
//!
//! ```
//! use surefoot_policy::{Dependency, Meta, Policy};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let prices = Dependency::new("prices", Policy::default())?;
//! let price = prices
//!     .call(&Meta::idempotent(), |attempt| async move {
//!         // One attempt: `attempt` knows its number, how much time is left, and what to write in headers.
//!         Ok::<_, std::io::Error>(attempt.number())
//!     })
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! # The parts
//!
//! [`Policy`] is plain data that is read from text and checked as a whole; [`Policy::explain`] says what it amounts
//! to. [`Dependency`] is its live state, shared by all callers. Three doors lead to the same engine:
//! [`Dependency::call`], the tower layer [`layer::Protect`], and the HTTP client `http_client::HttpClient` (feature
//! `http-client`). Each protection is a folder with its options, its state and its tests: [`timeout`], [`retry`],
//! [`budget`], [`hedge`], [`rate`], [`breaker`], [`bulkhead`], [`adaptive`], [`shed`], [`fallback`], [`fault`].
//!
//! The order is fixed, outermost first: fallback, total deadline, retry and hedge under one budget, gate and rate
//! limit, breaker, bulkhead, attempt time-out, the call.
//!
//! # What happened, and what may have happened
//!
//! An error says how certain the effect of the call is ([`surefoot_core::classify::Certainty`]): a time-out is not a
//! failure but an unknown. A call that is neither idempotent nor keyed is sent again only when it was not sent, or
//! was refused. [`CallError`] keeps the story: each attempt, and why no further one followed.
//!
//! # One layer retries
//!
//! A call tells the calls inside it, and over the wire the next service, that it retries ([`context`]); they then do
//! not. Three layers of four tries stay four calls and do not become sixty-four. Deadlines go the same way: narrowed,
//! rounded down, never extended.
//!
//! # Drills
//!
//! A fallback that is never used is a fallback that nobody knows to work. [`fallback::WithFallback::drill`] and
//! [`fallback::StaleCache::drill`] take the dependency to be away for one call, send nothing and say whether the fallback
//! answered: in a test, on a schedule, or behind a route for operators. [`fault`] injects errors, latency, hangs and resets
//! into real calls, and [`Dependency::force`] opens the breaker, to see the whole of it.
//!
//! # What is told
//!
//! [`event::Event`] is everything that happens, as one typed stream; [`metrics`] counts it under names and labels from closed
//! sets. Neither costs anything while nobody listens.
//!
//! # How it differs
//!
//! - **tower** has the layers `timeout`, `retry`, `limit`, `load_shed` and `hedge`, to be put together by hand. It has no
//!   breaker, no deadline that is handed on, no `Retry-After`, and no notion of a call that may have been applied. Its
//!   time-out does not count the wait for readiness; its concurrency limit takes a permit in `poll_ready`, so a ready
//!   clone that is left idle keeps it. Its layers compose with any service and its futures need no box; the layer here
//!   boxes one future per call.
//! - **tower-resilience** has more patterns (caching, coalescing, reconnecting, chaos, events for each) as separate layers
//!   with an order and a state of their own. Its breaker's count-based window adds up calls since the last change of
//!   state, where ours forgets; half-open calls have no lease; its layers box each call. Here the parts know of one another
//!   (one budget for retries and hedges, a full bulkhead is no failure of the breaker), at the price of a fixed order.
//! - **Polly** (.NET) composes strategies in any order and has the richer registry and telemetry. An outcome that it does
//!   not handle counts as a success for its breaker, a cancelled probe included; here there is a third, neutral kind. It has
//!   no retry budget and no retry owner.
//! - **resilience4j** (JVM) has count-based windows besides time-based ones, an event bus and registries, and decorators in
//!   an order of the user's choice. A half-open probe that never ends holds its place for ever unless a wait is configured;
//!   here it has a lease. It has no retry budget and no deadline that is handed on.
//!
//! # Limits
//!
//! - State is per process: a budget or a rate limit is not shared over a cluster.
//! - Waits need tokio's timer; a runtime without it panics when a call first waits, as tokio does.
//! - A call inside a call of the same dependency passes its breaker once; this is known for the four innermost
//!   enclosing dependencies and is lost in a task that the call spawns.
//! - [`Meta::once_only`] calls are never hedged; `hold`s are not taken for work that a call spawns by itself.

pub mod adaptive;
mod atomics;
pub mod breaker;
pub mod budget;
pub mod bulkhead;
mod call;
pub mod clock;
pub mod context;
pub mod dependency;
mod duration_text;
pub mod error;
pub mod event;
pub mod fallback;
pub mod fault;
pub mod hedge;
#[cfg(feature = "http-client")]
pub mod http_client;
pub mod lab;
pub mod layer;
pub mod meaning;
pub mod meta;
pub mod metrics;
pub mod policy;
pub mod rate;
pub mod retry;
pub mod shed;
#[cfg(test)]
mod testing;
pub mod timeout;
pub mod window;

pub use dependency::{Attempt, Dependency};
pub use error::CallError;
pub use meta::{Criticality, Meta};
pub use policy::Policy;
