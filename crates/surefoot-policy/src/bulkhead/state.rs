//! The live state of a bulkhead. A seat comes back exactly once, when the call really ends: by result, by
//! panic, by drop, or when detached work lets go of its hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::BulkheadOptions;

/// A bulkhead.
#[derive(Clone, Debug)]
pub struct Bulkhead(Arc<Room>);

#[derive(Debug)]
struct Room {
    free: Semaphore,
    limit: AtomicU32,
    /// Seats that must vanish when they come back: the limit was lowered, or a hold took a seat over.
    owed: AtomicU32,
    waiting: AtomicU32,
    detached: AtomicU32,
}

/// Why there is no seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// All seats and the whole queue are taken.
    Queue,
    /// The wait was over before a seat was free.
    Waited,
}

/// A seat that is taken; it is free again when this is dropped.
#[derive(Debug)]
#[must_use = "the seat is free again when this is dropped"]
pub struct Seat<'a>(&'a Room);

/// A seat that outlives its call: for work that goes on by itself, such as a body that is still being read or a
/// thread that cannot be stopped. The seat is free again when this is dropped.
#[derive(Debug)]
#[must_use = "the seat is free again when this is dropped"]
pub struct Hold(Arc<Room>);

struct Waiter<'a>(&'a Room);

impl Bulkhead {
    /// An empty bulkhead.
    #[must_use]
    pub fn new(options: &BulkheadOptions) -> Self {
        Self(Arc::new(Room {
            free: Semaphore::new(options.limit as usize),
            limit: AtomicU32::new(options.limit),
            owed: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            detached: AtomicU32::new(0),
        }))
    }

    /// Takes a seat if one is free and nobody waits for it.
    #[must_use]
    pub fn try_sit(&self) -> Option<Seat<'_>> {
        let permit = self.0.free.try_acquire().ok()?;
        permit.forget();
        Some(Seat(&self.0))
    }

    /// Takes a seat, or waits for one for at most `wait` and the options' time. First come, first served.
    ///
    /// # Errors
    /// [`Full`]; nothing is held then. Dropping the future leaves the queue at once.
    pub async fn sit(&self, options: &BulkheadOptions, wait: Duration) -> Result<Seat<'_>, Full> {
        if let Some(seat) = self.try_sit() {
            return Ok(seat);
        }
        let _waiter = self.0.enqueue(options.queue_max).ok_or(Full::Queue)?;
        let wait = wait.min(options.queue_wait_max);
        match tokio::time::timeout(wait, self.0.free.acquire()).await {
            Ok(Ok(permit)) => {
                permit.forget();
                Ok(Seat(&self.0))
            }
            Ok(Err(_)) | Err(_) => Err(Full::Waited),
        }
    }

    /// How many calls are out, those with a hold included.
    #[must_use]
    pub fn taken(&self) -> u32 {
        let free = u32::try_from(self.0.free.available_permits()).unwrap_or(u32::MAX);
        let owed = self.0.owed.load(Ordering::Acquire);
        self.0
            .limit
            .load(Ordering::Acquire)
            .saturating_add(owed)
            .saturating_sub(free)
    }

    /// How many calls wait.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.0.waiting.load(Ordering::Acquire)
    }

    /// How many holds are out.
    #[must_use]
    pub fn detached(&self) -> u32 {
        self.0.detached.load(Ordering::Acquire)
    }

    /// The present limit.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.0.limit.load(Ordering::Acquire)
    }

    /// Changes the limit. Calls that are out stay out; a lower limit is reached as they come back.
    pub fn set_limit(&self, limit: u32) {
        let limit = limit.max(1);
        let before = self.0.limit.swap(limit, Ordering::AcqRel);
        if limit > before {
            (before..limit).for_each(|_| self.0.put_back());
        } else {
            let lower = before - limit;
            let gone = u32::try_from(self.0.free.forget_permits(lower as usize)).unwrap_or(lower);
            self.0.owed.fetch_add(lower - gone, Ordering::AcqRel);
        }
    }

    /// Takes over one seat that its call holds at this moment: from now on the call's own seat and this hold
    /// count as two until the call ends, and then as one until the hold is dropped.
    pub(crate) fn hold(&self) -> Hold {
        self.0.detached.fetch_add(1, Ordering::AcqRel);
        self.0.owed.fetch_add(1, Ordering::AcqRel);
        Hold(Arc::clone(&self.0))
    }
}

impl Room {
    fn enqueue(&self, queue_max: u32) -> Option<Waiter<'_>> {
        let more = |waiting| (waiting < queue_max).then(|| waiting + 1);
        self.waiting
            .try_update(Ordering::AcqRel, Ordering::Acquire, more)
            .ok()?;
        Some(Waiter(self))
    }

    fn put_back(&self) {
        let less = |owed: u32| owed.checked_sub(1);
        if self
            .owed
            .try_update(Ordering::AcqRel, Ordering::Acquire, less)
            .is_err()
        {
            self.free.add_permits(1);
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.put_back();
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.detached.fetch_sub(1, Ordering::AcqRel);
        self.0.put_back();
    }
}
