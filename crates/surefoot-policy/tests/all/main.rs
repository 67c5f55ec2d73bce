//! Properties of the policy stack, its figures, and its doors. One binary, fully parallel.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocations;
mod lab;
mod outage;
mod properties;
mod races;
