//! What an error of SQLite means to a caller. It must never call an error transient that trying again cannot mend, nor
//! hide one whose outcome nobody knows.

use rusqlite::{Error, ErrorCode};
use surefoot_core::error::StoreError;

/// The [`StoreError`] of an error of SQLite, for callers who run statements of their own beside the store's.
///
/// Busy, locked, interrupted and failed input or output are [`StoreError::Unavailable`]; a violated constraint or a
/// value of the wrong type is [`StoreError::Broken`]; all else (a full disk, a read-only file, a file that is no
/// database) is [`StoreError::Refused`].
#[must_use]
pub fn store_error(error: Error) -> StoreError {
    match &error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted
            | ErrorCode::SystemIoFailure
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory
            | ErrorCode::SchemaChanged => StoreError::Unavailable(Box::new(error)),
            ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch => {
                StoreError::Broken(error.to_string())
            }
            _ => StoreError::Refused(Box::new(error)),
        },
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => StoreError::Broken(error.to_string()),
        _ => StoreError::Refused(Box::new(error)),
    }
}

/// The store was closed, or its thread ended, before it answered.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("the store was closed before it answered".into())
}

/// An operation panicked: a defect of ours, or of the caller's own work on the writer thread.
pub(super) fn panicked(name: &str) -> StoreError {
    StoreError::Broken(format!(
        "{name} panicked on the writer thread; nothing of it was written"
    ))
}
