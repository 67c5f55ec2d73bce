//! Finds the bulkhead's limit by itself, from how latency answers to load. Off unless asked for.
//!
//! [`AdaptiveOptions`] is the data, [`Adaptive`] the state: a gradient controller that measures the latency of an
//! idle dependency anew from time to time, so that neither growth nor a forgotten past lifts the limit for ever.

mod options;
mod state;

pub use options::AdaptiveOptions;
pub use state::{Adaptive, Sample};

#[cfg(test)]
mod tests;
