//! All options of a dependency as one value, checked as a whole, and what they amount to in the worst case.

mod data;
mod explain;
mod facts;

pub use data::{InvalidPolicy, Policy};
pub use explain::Explanation;

#[cfg(test)]
mod tests;
