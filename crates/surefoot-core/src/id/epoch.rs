//! The number of a lease.

use std::fmt;

/// The number that fences every write made under a lease. It rises with each claim of the job, never falls
/// and is never given twice, so a write under an earlier lease can be told from one under the present lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i64);

impl Epoch {
    /// The epoch of a job that was never claimed.
    pub const NEVER: Self = Self(0);

    /// The epoch of the next claim.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
