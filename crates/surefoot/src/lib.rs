//! Makes it happen: the client, the handlers, and the loops that claim, extend, settle and reap.
//!
//! It decides nothing by itself: what follows from an attempt is decided in `surefoot-core`, what is remembered is
//! behind [`Store`](surefoot_core::port::Store). It never writes without the epoch of a lease, and it never waits
//! for anything without a limit.
//!
//! A whole program: a job, its handler, and an engine that keeps everything in a file. It runs until it has its result.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use surefoot::{Cx, Engine, Job, JobPolicy, Outcome};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Greet {
//!     name: String,
//! }
//!
//! impl Job for Greet {
//!     const KIND: &'static str = "greet";
//!     type Output = String;
//! }
//!
//! async fn greet(job: Greet, _: Cx) -> Outcome<String> {
//!     Ok(format!("hello, {}", job.name))
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #     let folder = tempfile::tempdir()?;
//! #     std::env::set_current_dir(&folder)?;
//!     let store = surefoot_store::open("sqlite:surefoot.db").await?;
//!     let engine = Engine::over(store).handle(greet, JobPolicy::default());
//!     let engine = engine.start().await?;
//!
//!     let name = "world".to_owned();
//!     let job = engine.enqueue(Greet { name }).await?;
//!     assert_eq!(engine.result(job).await?, "hello, world");
//!     engine.drain().await;
//!     Ok(())
//! }
//! ```
//!
//! There is no release yet, so its `Cargo.toml` names a checkout:
//!
//! ```toml
//! [dependencies]
//! serde = { version = "1", features = ["derive"] }
//! surefoot = { path = "surefoot/crates/surefoot" }
//! surefoot-store = { path = "surefoot/crates/surefoot-store" }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
//! A handler that does something outside says so by [`Cx::effect`]:
//!
//! ```no_run
//! # use serde::{Deserialize, Serialize};
//! # use std::time::Duration;
//! # use surefoot::{Cx, Failure, Outcome, Verdict, Verify};
//! # #[derive(Serialize, Deserialize)] struct Receipt;
//! # async fn call_psp(_: &str, _: &str) -> Outcome<Receipt> { Ok(Receipt) }
//! # async fn find_at_psp(_: &str) -> Outcome<Option<Receipt>> { Ok(None) }
//! async fn refund(payment: String, cx: Cx) -> Outcome<Receipt> {
//!     cx.effect("psp.refund")
//!         .timeout(Duration::from_secs(10))
//!         .recover(
//!             Verify::by(|key| async move {
//!                 match find_at_psp(key.as_str()).await? {
//!                     Some(receipt) => Ok(Verdict::happened(&receipt)?),
//!                     None => Ok(Verdict::DidNotHappen),
//!                 }
//!             })
//!             .settles_within(Duration::from_secs(60)),
//!         )
//!         .call(|key| async move { call_psp(&payment, key.as_str()).await })
//!         .await
//! }
//! ```
//!
//! - [`Engine`] runs jobs in this process. [`Client`] is everything but the loops.
//! - [`Job`] ties a payload to its kind and output; [`Cx`] is what a handler knows of its attempt; [`Handler`] is
//!   the raw door for kinds that are configured and not written.
//! - [`Cx::effect`] carries out an external side effect once: its row is durable before the call leaves, and an unknown
//!   outcome is never retried without what its author declared ([`Verify`], [`SameKey`], [`AtMostOnce`],
//!   [`Repeatable`]). [`Cx::step`] keeps a local result. [`Client::resolve`] takes the word of a witness.
//! - [`checklist`] asks a program with handlers of its own what `surefoot check` asks a configuration, and holds it to its
//!   answers.
//! - [`Relay`] delivers the messages of the outbox to their sinks, in this process.
//! - [`Policies`] say how each kind is run. [`Observer`] sees everything that happens.

mod announcer;
mod bounded;
pub mod checklist;
mod client;
mod clock;
mod cx;
mod dice;
mod effect;
mod engine;
mod error;
mod handler;
mod holder;
mod intent;
mod job;
mod local;
mod observe;
mod policies;
mod relay;
mod running;
mod settled;

pub use bounded::STORE_TIMEOUT;
pub use client::{
    Changed, Client, EffectBegun, EffectTold, LeaseExtended, Reported, Resolved, Seen,
};
pub use clock::NodeClock;
pub use cx::{CancelCause, Cx};
pub use effect::{
    Applied, AtMostOnce, EffectCall, EffectDraft, Recover, Repeatable, SameKey, Verify, VerifyBy,
};
pub use engine::{Drained, Engine, EngineBuilder, EngineOptions, Health, Heartbeat, StartError};
pub use error::{Error, Unfinished};
pub use handler::Handler;
pub use holder::NODE_PREFIX;
pub use intent::Intent;
pub use job::{Job, JobRef, Outcome};
pub use observe::{Event, NoObserver, Observer};
pub use policies::Policies;
pub use relay::{
    NoRelayObserver, Relay, RelayBuilder, RelayDrained, RelayEvent, RelayObserver, RelayOptions,
    RelayStartError, Sink,
};
pub use surefoot_core as core;
pub use surefoot_core::effect::{Verdict, VerifyPlan};
pub use surefoot_core::failure::Failure;
pub use surefoot_core::policy::{JobPolicy, Recovery};
