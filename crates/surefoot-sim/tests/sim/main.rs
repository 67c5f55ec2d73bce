//! The tests of the simulator, in one binary: what holds, and that what does not hold is found.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod model;
mod seeds;
