//! Looks at one row by its key, on the thread of the caller: a hand-over to a reader and back costs several times what
//! such a look does. It never waits: where a connection is in use, another process holds the file, or the disk was slow
//! lately, the readers are asked instead.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use surefoot_core::error::StoreError;

use super::connection::{self, Access};
use super::fault::store_error;

/// How many looks at once.
const CONNECTIONS: usize = 4;

/// A look that takes longer had to wait for the disk.
const QUICK_MAX: Duration = Duration::from_millis(2);

/// After a slow look so many times its length go by before the next one, so that a thread of the caller's is never held
/// up for more than a small part of its time.
const REST_PER_LOOK: u32 = 20;

/// Rows that are looked at once need little room.
const PRAGMAS: &str = "
    pragma cache_size = -2048;";

/// Connections for looks on the caller's thread.
pub(super) struct Glances {
    connections: Vec<Mutex<Connection>>,
    begun: Instant,
    /// No look before this time, in microseconds since `begun`.
    rests_until: AtomicU64,
}

impl Glances {
    /// Opens the connections.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let connections = (0..CONNECTIONS).map(|_| {
            let connection = connection::open(path, Access::Read)?;
            connection
                .execute_batch(PRAGMAS)
                .and_then(|()| connection.busy_timeout(Duration::ZERO))
                .map_err(store_error)?;
            Ok(Mutex::new(connection))
        });
        Ok(Self {
            connections: connections.collect::<Result<_, StoreError>>()?,
            begun: Instant::now(),
            rests_until: AtomicU64::new(0),
        })
    }

    /// Runs `look`, a single statement that reads one row by its key; `None` when the readers are to be asked.
    pub(super) fn at_once<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Option<Result<T, StoreError>> {
        let from = Instant::now();
        if self.micros(from) < self.rests_until.load(Ordering::Relaxed) {
            return None;
        }
        let connection =
            self.connections
                .iter()
                .find_map(|connection| match connection.try_lock() {
                    Ok(connection) => Some(connection),
                    Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                    Err(TryLockError::WouldBlock) => None,
                })?;
        let seen = look(&connection);
        drop(connection);
        let took = from.elapsed();
        if took > QUICK_MAX {
            let until = self.micros(from + took.saturating_mul(REST_PER_LOOK));
            self.rests_until.fetch_max(until, Ordering::Relaxed);
        }
        match seen {
            Err(StoreError::Unavailable(_)) => None,
            seen => Some(seen),
        }
    }

    fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begun).as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glances(folder: &tempfile::TempDir) -> Glances {
        let path = folder.path().join("glance.db");
        drop(connection::open(&path, Access::Write).unwrap());
        Glances::open(&path).unwrap()
    }

    #[test]
    fn a_slow_look_sends_the_next_ones_to_the_readers() {
        let folder = tempfile::tempdir().unwrap();
        let glances = glances(&folder);
        assert!(matches!(glances.at_once(|_| Ok(7)), Some(Ok(7))));
        let slow = glances.at_once(|_| {
            std::thread::sleep(QUICK_MAX * 10);
            Ok(8)
        });
        assert!(matches!(slow, Some(Ok(8))), "it is answered all the same");
        assert!(glances.at_once(|_| Ok(9)).is_none());
        std::thread::sleep(QUICK_MAX * 10 * REST_PER_LOOK * 2);
        assert!(matches!(glances.at_once(|_| Ok(10)), Some(Ok(10))));
    }

    #[test]
    fn what_would_have_to_wait_is_left_to_the_readers() {
        let folder = tempfile::tempdir().unwrap();
        let glances = glances(&folder);
        let busy = glances.at_once::<()>(|_| Err(StoreError::Unavailable("busy".into())));
        assert!(busy.is_none());
        let held: Vec<_> = glances
            .connections
            .iter()
            .map(|connection| connection.lock().unwrap())
            .collect();
        assert!(glances.at_once(|_| Ok(())).is_none());
        drop(held);
        assert!(matches!(glances.at_once(|_| Ok(())), Some(Ok(()))));
    }
}
