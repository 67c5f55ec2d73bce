//! Bounds how many calls leave per time, and keeps away while the dependency asks for it.
//!
//! [`RateOptions`] is the data; [`Rate`] is a limiter in one atomic word, [`Gate`] holds a `Retry-After` for all
//! callers of the dependency.

mod gate;
mod options;
mod state;

pub use gate::Gate;
pub use options::RateOptions;
pub use state::{Rate, Turn};

#[cfg(test)]
mod tests;
