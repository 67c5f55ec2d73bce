//! What can go wrong in a store. A refusal is not an error: it is part of the verb's answer.

/// Any error of a driver, boxed at the border of the store.
pub type Cause = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A verb of a store could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is away, busy or too slow. Whether a write took effect is unknown; every verb may be called
    /// again with the same arguments.
    #[error("the database did not answer")]
    Unavailable(#[source] Cause),
    /// The database holds a schema that this build must not touch.
    #[error("the database has schema {found}, this build knows {known}: {remedy}")]
    Schema {
        /// The schema's version in the database.
        found: i64,
        /// The newest version this build knows.
        known: i64,
        /// What to do.
        remedy: &'static str,
    },
    /// A row holds what no code of ours writes.
    #[error("broken invariant: {0}")]
    Broken(String),
    /// The statement was refused for another reason, such as missing rights or a full disk.
    #[error("the database refused")]
    Refused(#[source] Cause),
}

impl StoreError {
    /// Whether trying again may help.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Schema { .. } | Self::Broken(_) | Self::Refused(_) => false,
        }
    }
}
