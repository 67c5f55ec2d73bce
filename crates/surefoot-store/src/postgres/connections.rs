//! The connections of one store: bounded in number, the latest used first, each closed for good when anything about it is
//! in doubt. The driver's own pool asks the server for a sign of life after each use and keeps a connection that a
//! time-out left in the middle of an answer; here neither happens.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};
use surefoot_core::error::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Fault;

/// A connection that rested longer is asked for a sign of life before it is used.
const REST_MAX: Duration = Duration::from_secs(5);
/// A connection is replaced at this age, so that memory that a server process gathered is given back.
const AGE_MAX: Duration = Duration::from_secs(30 * 60);

pub(super) struct Connections {
    options: PgConnectOptions,
    slots: Arc<Semaphore>,
    resting: Mutex<Vec<Resting>>,
}

struct Resting {
    connection: PgConnection,
    made_at: Instant,
    since: Instant,
}

/// A connection in use. Dropped, it is closed; only [`Held::release`] lets it be used again.
pub(super) struct Held {
    pub(super) connection: PgConnection,
    made_at: Instant,
    _slot: OwnedSemaphorePermit,
}

impl Connections {
    pub(super) fn new(options: PgConnectOptions, most: u32) -> Self {
        let slots = Arc::new(Semaphore::new(most as usize));
        Self {
            options,
            slots,
            resting: Mutex::default(),
        }
    }

    /// A connection that works, as far as can be known. Waits without a limit of its own: the caller's time-out bounds
    /// it, and when it fires what was half made is closed.
    pub(super) async fn hold(&self) -> Result<Held, StoreError> {
        let slot = self.slots.clone().acquire_owned().await;
        let slot = slot.map_err(|closed| StoreError::Unavailable(closed.into()))?;
        while let Some(resting) = self.wake() {
            let Resting {
                mut connection,
                made_at,
                since,
            } = resting;
            if since.elapsed() < REST_MAX || connection.ping().await.is_ok() {
                return Ok(Held {
                    connection,
                    made_at,
                    _slot: slot,
                });
            }
            // One that died at rest is seldom alone: the others died of the same restart.
            self.forget_resting();
        }
        let connection = self
            .options
            .connect()
            .await
            .map_err(|error| Fault::of(error).error)?;
        Ok(Held {
            connection,
            made_at: Instant::now(),
            _slot: slot,
        })
    }

    /// The connection that rested the shortest and is not too old.
    fn wake(&self) -> Option<Resting> {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(latest) = resting.pop() {
            if latest.made_at.elapsed() < AGE_MAX {
                return Some(latest);
            }
        }
        None
    }

    /// Closes every connection at rest. The next verbs make new ones, which is quicker than finding out one by one which
    /// of them still live.
    pub(super) fn forget_resting(&self) {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let dead = std::mem::take(&mut *resting);
        drop(resting);
        drop(dead);
    }

    /// Lets a connection be used again.
    pub(super) fn release(&self, held: Held) {
        let Held {
            connection,
            made_at,
            _slot: slot,
        } = held;
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.push(Resting {
            connection,
            made_at,
            since: Instant::now(),
        });
        drop(resting);
        drop(slot);
    }
}
