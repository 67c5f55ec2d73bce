//! The policy as a tower layer: every service gets it, whatever its request.
//!
//! Nothing is held before a call begins: readiness is always given at once, and the inner service is made ready
//! inside the call, within its deadline, so an idle clone keeps no seat and no connection.

mod http_plan;
mod plan;
mod service;

pub use http_plan::{HttpPlan, Replay, retry_after};
pub use plan::Plan;
pub use service::{Protect, Protected};

#[cfg(test)]
mod tests;
