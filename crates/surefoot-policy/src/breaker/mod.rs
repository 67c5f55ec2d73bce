//! Stops calling a dependency that fails, and finds out with few calls when it is well again.
//!
//! [`BreakerOptions`] is the data, [`Breaker`] the state, one atomic word beside its window. Transitions are
//! lazy: they happen when somebody calls, by the clock, and no task or timer runs for them.

mod options;
mod permit;
mod state;
mod word;

pub use options::{BreakerMode, BreakerOptions, PROBES_MAX};
pub use permit::Permit;
pub use state::{Breaker, BreakerState, Evidence, Force, Refusal, Transition};

#[cfg(test)]
mod tests;
