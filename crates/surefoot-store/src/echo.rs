//! One fault told to several callers whose operations shared a commit: what failed for one failed for all, in the same way.

use surefoot_core::error::{Cause, StoreError};

/// The same fault once more. `cause` stands for the cause, which cannot be copied.
pub(crate) fn echo(error: &StoreError, cause: impl FnOnce(&Cause) -> Cause) -> StoreError {
    match error {
        StoreError::Unavailable(first) => StoreError::Unavailable(cause(first)),
        StoreError::Refused(first) => StoreError::Refused(cause(first)),
        StoreError::Broken(what) => StoreError::Broken(what.clone()),
        StoreError::Schema {
            found,
            known,
            remedy,
        } => StoreError::Schema {
            found: *found,
            known: *known,
            remedy,
        },
    }
}
