//! Turns away what matters least while a dependency is nearly full.
//!
//! [`ShedOptions`] is the data; there is no state of its own: it looks at the bulkhead.

mod options;

pub use options::ShedOptions;

#[cfg(test)]
mod tests;
