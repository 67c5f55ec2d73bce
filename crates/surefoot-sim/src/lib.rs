//! Tries to break Surefoot. It is not published, and nothing depends on it.
//!
//! - [`model`]: the protocol of claims, leases and effects, explored exhaustively.

pub mod model;
