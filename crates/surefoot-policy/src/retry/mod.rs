//! Whether a failed attempt is followed by another, and when.
//!
//! [`RetryOptions`] is the data; [`next`] decides, purely; the engine only carries its answer out.

mod backoff_text;
mod decide;
mod options;

pub use decide::{Next, Situation, Suppressed, next};
pub use options::{ATTEMPTS_MAX, BackoffOptions, Delays, Exponential, JitterOptions, RetryOptions};

#[cfg(test)]
mod tests;
