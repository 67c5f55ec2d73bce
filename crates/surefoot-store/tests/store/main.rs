//! The integration tests of the stores, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod postgres;
mod sqlite;
