//! The API as its callers see it, over a store in memory: every wire name, every problem, every limit.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod auth;
mod dependencies;
mod effects;
mod enqueue;
mod events;
mod fuzz;
mod harness;
mod leases;
mod list;
mod messages;
mod metrics;
mod openapi;
mod problems;
mod requests;
mod sockets;
mod steer;
