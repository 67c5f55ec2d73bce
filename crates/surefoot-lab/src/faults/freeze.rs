//! Stopping a worker with calls in flight, but not in the middle of a commit.
//!
//! A process that is stopped while it writes keeps SQLite's write lock, and then nobody else can write until it goes on:
//! what would be measured is the lock and not the lease. So it goes on for a moment and is stopped again, until the file
//! can be written. All contestants on SQLite are treated so.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::error::LabError;
use crate::process::Process;

/// How long to wait for the lock before it counts as held: longer than another process takes to commit.
const LOCK_WAIT: Duration = Duration::from_millis(500);
/// How long the worker goes on before it is stopped again.
const GO_ON: Duration = Duration::from_millis(5);
/// How often it is stopped before the lab gives up.
const TRIES_MAX: usize = 50;

/// Stops `worker` so that others can write to `file`.
pub(super) async fn freeze(worker: &Process, file: &Path) -> Result<(), LabError> {
    for _ in 0..TRIES_MAX {
        worker.freeze()?;
        if can_be_written(file.to_owned()).await? {
            return Ok(());
        }
        worker.go_on()?;
        tokio::time::sleep(GO_ON).await;
    }
    Err(LabError::Late {
        what: "a moment in which a worker writes nothing".to_owned(),
        within: (LOCK_WAIT + GO_ON) * u32::try_from(TRIES_MAX).unwrap_or(u32::MAX),
    })
}

async fn can_be_written(file: PathBuf) -> Result<bool, LabError> {
    let looked = tokio::task::spawn_blocking(move || look(&file)).await;
    let looked =
        looked.map_err(|error| LabError::io("look at a lock")(std::io::Error::other(error)))?;
    match looked {
        Ok(()) => Ok(true),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
        Err(source) => Err(LabError::Rows {
            what: "look at the lock",
            source,
        }),
    }
}

/// Takes the lock and gives it back; nothing is written.
fn look(file: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(file)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection
        .transaction_with_behavior(TransactionBehavior::Immediate)?
        .rollback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_somebody_writes_to_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let mut writer = Connection::open(&file).unwrap();
        assert!(can_be_written(file.clone()).await.unwrap());
        let writes = writer
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .unwrap();
        assert!(!can_be_written(file.clone()).await.unwrap());
        drop(writes);
        assert!(can_be_written(file).await.unwrap());
    }
}
