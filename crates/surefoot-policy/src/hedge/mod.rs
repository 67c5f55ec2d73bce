//! Sends a second copy of a slow call that may be repeated; the first success wins.
//!
//! [`HedgeOptions`] is the data, [`Latency`] what is known about how long calls take, `race` runs the two.

mod latency;
mod options;
mod race;

pub use latency::Latency;
pub use options::HedgeOptions;
pub(crate) use race::{Race, race};

#[cfg(test)]
mod tests;
