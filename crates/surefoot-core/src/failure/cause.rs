//! A failure inside a chain of causes. An error that knows what it means to a job, and cannot be a [`Failure`] itself, gives
//! one of these as its source; it must never mean more than that error knows.

use std::fmt;

use super::Failure;

/// How many links of a chain of causes are read.
pub const CAUSES_MAX: usize = 16;

/// A failure as the cause of an error: by `?` the error becomes this failure, with the texts of the chain down to here.
///
/// It is the last link that is read. Its own text is what it adds to those above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureCause(Failure);

impl FailureCause {
    /// The cause that says `failure`.
    #[must_use]
    pub const fn new(failure: Failure) -> Self {
        Self(failure)
    }

    /// What it says.
    #[must_use]
    pub const fn failure(&self) -> &Failure {
        &self.0
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text.as_str())
    }
}

impl std::error::Error for FailureCause {}
