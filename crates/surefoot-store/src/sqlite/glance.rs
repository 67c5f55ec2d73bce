//! Looks at one row by its key, on the thread of the caller: a hand-over to a reader and back costs several times what
//! such a look does. It never waits: where other looks do not end, another process holds the file, or the disk was slow
//! lately, the readers are asked instead.

use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use surefoot_core::error::StoreError;

use super::connection::{self, Access};
use super::fault::store_error;

/// How many looks at once, and no more than half as many as the machine has processors: a disk that hangs then holds up
/// half of a runtime's threads, and never all of them. (A runtime that was given a single thread has none to spare.)
const CONNECTIONS_MAX: usize = 4;

/// How long a thread turns on the spot while others look, which is a few times what a look takes.
const SPIN_MAX: Duration = Duration::from_micros(30);

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
    /// When the latest look began, in microseconds since `begun`.
    latest: AtomicU64,
    /// No look before this time, in microseconds since `begun`.
    rests_until: AtomicU64,
}

impl Glances {
    /// Opens the connections.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self::with_room(path, (processors / 2).clamp(1, CONNECTIONS_MAX))
    }

    fn with_room(path: &Path, looks_max: usize) -> Result<Self, StoreError> {
        let connections = (0..looks_max).map(|_| {
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
            latest: AtomicU64::new(0),
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
        let connection = self.free(from)?;
        self.latest.store(self.micros(from), Ordering::Relaxed);
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

    /// A connection that nobody uses, as soon as there is one; `None` where those who look take longer than a look takes.
    fn free(&self, from: Instant) -> Option<MutexGuard<'_, Connection>> {
        loop {
            for connection in &self.connections {
                match connection.try_lock() {
                    Ok(connection) => return Some(connection),
                    Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                    Err(TryLockError::WouldBlock) => {}
                }
            }
            let latest = Duration::from_micros(self.latest.load(Ordering::Relaxed));
            let hangs = (self.begun + latest).elapsed() > QUICK_MAX;
            if hangs || from.elapsed() > SPIN_MAX {
                return None;
            }
            std::hint::spin_loop();
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

    /// A disk that hangs holds up some threads of a runtime and not all of them; the others do not wait for those.
    #[test]
    fn looks_that_hang_hold_up_no_more_than_have_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("glance.db");
        drop(connection::open(&path, Access::Write).unwrap());
        let glances = Glances::with_room(&path, 2).unwrap();
        let (hung, asked) = (AtomicU64::new(0), AtomicU64::new(0));
        let (hold, held) = (Mutex::new(()), 8);
        let holding = hold.lock().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..held {
                scope.spawn(|| {
                    let seen = glances.at_once(|_| {
                        hung.fetch_add(1, Ordering::SeqCst);
                        drop(hold.lock().unwrap());
                        Ok(())
                    });
                    if seen.is_none() {
                        asked.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            while asked.load(Ordering::SeqCst) + hung.load(Ordering::SeqCst) < held {
                std::thread::sleep(QUICK_MAX);
            }
            assert_eq!(hung.load(Ordering::SeqCst), 2);
            drop(holding);
        });
    }

    #[test]
    fn half_of_the_processors_stay_free() {
        let folder = tempfile::tempdir().unwrap();
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let most = glances(&folder).connections.len();
        assert!(
            most == 1 || 2 * most <= processors,
            "{most} of {processors}"
        );
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
