//! How an intent stands, in the words that all contestants are measured by.

/// How an intent stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits or runs: it goes on by itself.
    Open,
    /// Done, with what the contestant keeps as its result.
    Done(String),
    /// It stands as unknown and visibly waits for a person.
    Person(String),
    /// It is told as failed and will not run again by itself.
    Failed(String),
}

impl Standing {
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }
}
