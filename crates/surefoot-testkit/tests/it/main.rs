//! The integration tests of the testkit, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod broken;
mod clock;
mod contract;
mod faulty;
mod fork;
mod listed;
mod messages;
mod program;
mod provider;
mod requests;
mod requests_broken;
