//! Stops calling a dependency that fails, and finds out with few calls when it is well again.
//!
//! [`BreakerOptions`] is the data, [`Breaker`] the state, one atomic word beside its window. Transitions are
//! lazy: they happen when somebody calls, by the clock, and no task or timer runs for them.

mod kinds;
mod options;
mod permit;
mod probes;
mod state;
mod view;
mod word;

pub use kinds::{BreakerState, Evidence, Force, Refusal, Transition};
pub use options::{BreakerMode, BreakerOptions, PROBES_MAX};
pub use permit::Permit;
pub use state::Breaker;

#[cfg(test)]
mod tests;
