//! Bounds how many calls are out at once, so that one slow dependency cannot take everything.
//!
//! [`BulkheadOptions`] is the data, [`Bulkhead`] the state: a limit, and a bounded queue before it whose waiters
//! leave at their deadline.

mod options;
mod state;

pub use options::{BulkheadOptions, LIMIT_MAX};
pub use state::{Bulkhead, Full, Hold, Seat};

#[cfg(test)]
mod tests;
