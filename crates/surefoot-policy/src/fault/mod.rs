//! Makes calls fail on purpose, so that what should happen then is seen before it has to.
//!
//! [`FaultOptions`] is the data; [`FaultOptions::injected`] draws what happens to one attempt.

mod options;

pub use options::{FaultOptions, Injected};

#[cfg(test)]
mod tests;
