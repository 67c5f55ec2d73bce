//! Tries to break Surefoot. It is not published, and nothing depends on it.
//!
//! - [`model`]: the protocol of claims, leases and effects, explored exhaustively.
//! - [`seeds`]: worlds drawn by seed, in which the real engine meets every fault there is.

pub mod model;
pub mod seeds;
