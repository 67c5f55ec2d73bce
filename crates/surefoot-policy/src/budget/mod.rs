//! Bounds what retries and hedges may add to the calls of a dependency, in good times and in bad.
//!
//! [`BudgetOptions`] is the data, [`Budget`] the state. Each logical success deposits a share of one send; a
//! deposit lasts for the window. Retries and hedges draw on the same budget.

mod options;
mod state;

pub use options::BudgetOptions;
pub use state::{Budget, Draw};

#[cfg(test)]
mod tests;
