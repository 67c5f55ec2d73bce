//! A call that failed, with its story: how it ended, what each attempt met, what may have happened at the other
//! end, and why no further attempt followed. Only a call whose attempts failed keeps a record of them.

mod call_error;
mod kinds;
#[cfg(test)]
mod tests;

pub use call_error::CallError;
pub(crate) use kinds::together;
pub use kinds::{AttemptRecord, Kind, Rejection, Story};
