//! How a connection to the file is opened: write-ahead log, full durability, and patience when another process writes.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use surefoot_core::error::StoreError;

use super::fault::store_error;

/// The pauses between two tries while another process writes. They are short and uneven, so that of several writers
/// each finds its gap.
const BUSY_PAUSE_MICROS: std::ops::RangeInclusive<u64> = 500..=1500;

/// How many pauses are made before the answer is "busy": about 10 seconds.
const BUSY_TRIES_MAX: i32 = 10_000;

/// How long a change to the write-ahead log is tried for: SQLite does not wait by itself there.
const LOG_MODE_WAIT_MAX: Duration = Duration::from_secs(10);

/// How many prepared statements a connection keeps, more than there are.
const STATEMENTS_MAX: usize = 256;

/// The pragmas of the writer. The log is copied into the file after each 16 MiB and cut to at most 64 MiB; every
/// commit is flushed to the disk.
const WRITER_PRAGMAS: &str = "
    pragma synchronous = full;
    pragma wal_autocheckpoint = 4000;
    pragma journal_size_limit = 67108864;
    pragma cache_size = -65536;
    pragma temp_store = memory;";

/// The pragmas of a reader.
const READER_PRAGMAS: &str = "
    pragma query_only = on;
    pragma cache_size = -16384;
    pragma temp_store = memory;";

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// To write; makes the file when there is none.
    Write,
    /// To read a file that a writer has opened before.
    Read,
}

/// Opens a connection; nothing is written yet.
pub(super) fn open(path: &Path, access: Access) -> Result<Connection, StoreError> {
    let may = match access {
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Read => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let flags = may | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(store_error)?;
    connection
        .busy_handler(Some(wait_while_busy))
        .map_err(store_error)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    if access == Access::Read {
        connection
            .execute_batch(READER_PRAGMAS)
            .map_err(store_error)?;
    }
    Ok(connection)
}

/// Makes a connection ready to write.
pub(super) fn begin_to_write(connection: &Connection) -> Result<(), StoreError> {
    use_write_ahead_log(connection)?;
    connection
        .execute_batch(WRITER_PRAGMAS)
        .map_err(store_error)
}

fn wait_while_busy(tries: i32) -> bool {
    std::thread::sleep(Duration::from_micros(fastrand::u64(BUSY_PAUSE_MICROS)));
    tries < BUSY_TRIES_MAX
}

fn use_write_ahead_log(connection: &Connection) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        let mode = connection
            .query_row("pragma journal_mode = wal", (), |row| {
                row.get::<_, String>(0)
            })
            .map_err(store_error);
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let fault = format!(
                    "the journal mode stays {mode}, a write-ahead log is needed; use a file on a local disk"
                );
                return Err(StoreError::Refused(fault.into()));
            }
            Err(error) if error.is_transient() && begun.elapsed() < LOG_MODE_WAIT_MAX => {
                wait_while_busy(0);
            }
            Err(error) => return Err(error),
        }
    }
}
