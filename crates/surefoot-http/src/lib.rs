//! Guards a service's front door: a request with an `Idempotency-Key` runs once, and every repetition gets its answer. As a
//! tower layer for services in Rust, and as a reverse proxy for services in any language.
//!
//! It decides nothing by itself: what follows for a request is decided in `surefoot-core`, what is remembered is behind
//! [`Requests`](surefoot_core::port::Requests). It never runs a handler for a key that it could not claim, unless a route
//! waives that in words; it never takes an outcome that nobody knows for a failure; it never answers one tenant with what
//! another one asked.
//!
//! - [`Guard`] is the front door, [`IdempotencyLayer`] its tower layer. [`GuardOptions`], [`Routes`], [`RoutePolicy`] say how
//!   each route is guarded, [`Tenants`] whose a request is.
//! - [`RequestContext`] is what a handler knows of its request, and has the keys for what it calls. [`Told`] is what it may
//!   say of its outcome besides its answer.
//! - [`Reconciler`] settles requests whose outcome nobody knows, by asking a [`Reconcile`].
//! - [`resolve`] takes in the word of a witness who was not asked.
//! - [`Proxy`] is the guard in front of a service in any language.
//! - [`TransactionLayer`] and [`InTransaction`] put claim, business rows and answer into one commit.
//! - [`Accept`] makes a job of the request and answers with 202, or with the result of what is done soon.
//! - [`IntentKey`], [`IntentBook`] and [`Answered`] are the client's half.
//! - [`DoorObserver`] sees everything that happens here.
//! - [`problem`] lists what the guard answers in its own name; [`mark`] the headers that tell it from the application's.

mod accept;
mod context;
mod guard;
mod intent;
mod intent_book;
mod layer;
pub mod mark;
mod observe;
mod options;
pub mod problem;
mod proxy;
mod published;
mod reconcile;
mod route;
mod stall;
mod tenant;
mod term;
mod told;
mod transaction;
mod witness;

pub use accept::{ACCEPT_WAIT_MAX, Accept, AcceptRefused, JobLookup, STREAMS_MAX, WAITS_MAX, Wait};
pub use context::RequestContext;
pub use guard::{BoxError, Guard};
pub use intent::{Answered, IntentKey, WAIT_MAX};
pub use intent_book::{INTENT_NAME_BYTES_MAX, IntentBook, IntentBookError, OPEN_INTENTS_MAX};
pub use layer::{Idempotency, IdempotencyLayer, TransactionLayer, Transactional};
pub use observe::{DoorEvent, DoorObserver, NoDoorObserver, Said};
pub use options::{GuardOptions, GuardRefused};
pub use proxy::{Proxy, ProxyDrained, ProxyOptions, ProxyRefused, VerifyByUrl};
pub use reconcile::{AskNobody, Reconcile, Reconciler, ReconcilerOptions, Round};
pub use route::{ANY_ROUTE, Need, ROUTES_MAX, RoutePolicy, Routes, Rule, StoreAway};
pub use stall::StallGuard;
pub use tenant::{
    BearerTenants, ExtensionTenant, SingleTenant, TOKEN_BYTES_MIN, TenantRefused, Tenants,
    TokenRefused, TrustedHeader,
};
pub use told::{OUTCOME, Told};
pub use transaction::InTransaction;
pub use witness::{Resolved, resolve};
