//! What is served when a dependency cannot be: a value, a function, or what it said last.
//!
//! [`FallbackOptions`] is the data, [`WithFallback`] a dependency with its fallback, [`StaleCache`] remembers
//! answers with their age and lets one caller refresh them.

mod cache;
mod options;
mod serve;

pub use cache::{CacheError, StaleCache};
pub use options::{FallbackKind, FallbackOptions, StaleOptions};
pub use serve::{Drill, Fallback, Served, Source, WithFallback};

#[cfg(test)]
mod tests;
