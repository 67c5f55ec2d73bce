//! The front door from outside: an axum service behind the layer, over the memory store, mostly in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod accept;
mod call;
mod claim;
mod context;
mod draft;
mod fixture;
mod frozen;
mod kept;
mod marks;
mod observe;
mod outlive;
mod proxy;
mod reconcile;
mod store;
mod together;
mod transact;
mod withdraw;
