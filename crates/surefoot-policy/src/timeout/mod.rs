//! How long a call may take: to connect, per attempt, in all.
//!
//! [`TimeoutOptions`] is the data. `Guarded` runs one attempt under its time-out and notices the slow line; its
//! timer exists only once the attempt was not ready at once.

mod attempt;
mod options;

pub(crate) use attempt::{Guarded, Ran};
pub use options::TimeoutOptions;

#[cfg(test)]
mod tests;
