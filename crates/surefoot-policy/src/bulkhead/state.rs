//! The live state of a bulkhead. A seat comes back exactly once, when the call really ends: by result, by
//! panic, by drop, or when detached work lets go of its hold. While nobody waits, a seat costs one atomic step each
//! way; a seat that comes back goes to whoever waits longest, never past them to a newcomer.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::BulkheadOptions;

/// A bulkhead.
#[derive(Clone, Debug)]
pub struct Bulkhead(Arc<Room>);

#[derive(Debug)]
struct Room {
    /// How many seats are taken, and how many wait for one; see [`Word`].
    word: AtomicU64,
    limit: AtomicU32,
    /// Seats that are not taken a second time when they come back, because a hold took them over.
    owed: AtomicU32,
    detached: AtomicU32,
    /// One permit for each waiter that was given a seat and has not heard of it. Who waits has left `word.waiting`
    /// by then.
    given: Semaphore,
    /// Held while a waiter leaves `word.waiting` and its permit appears, so that one that goes away at this moment
    /// sees either both or neither.
    giving: Mutex<()>,
}

/// Seats taken in the lower half, waiters in the upper half.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    const WAITER: u64 = 1 << 32;

    const fn taken(self) -> u32 {
        (self.0 & u32::MAX as u64) as u32
    }

    const fn waiting(self) -> u32 {
        (self.0 >> 32) as u32
    }
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

/// A place in the queue; dropped before it has become a seat, it leaves the queue.
struct Waiter<'a>(Option<&'a Room>);

impl Bulkhead {
    /// An empty bulkhead.
    #[must_use]
    pub fn new(options: &BulkheadOptions) -> Self {
        Self(Arc::new(Room {
            word: AtomicU64::new(0),
            limit: AtomicU32::new(options.limit),
            owed: AtomicU32::new(0),
            detached: AtomicU32::new(0),
            given: Semaphore::new(0),
            giving: Mutex::new(()),
        }))
    }

    /// Takes a seat if one is free and nobody waits for it.
    #[must_use]
    #[inline]
    pub fn try_sit(&self) -> Option<Seat<'_>> {
        let limit = self.0.limit.load(Ordering::Relaxed);
        self.0
            .step(|word| (word.waiting() == 0 && word.taken() < limit).then(|| word.0 + 1))
            .then(|| Seat(&self.0))
    }

    /// Takes a seat, or waits for one for at most `wait` and the options' time. First come, first served.
    ///
    /// # Errors
    /// [`Full`]; nothing is held then. Dropping the future leaves the queue at once.
    pub async fn sit(&self, options: &BulkheadOptions, wait: Duration) -> Result<Seat<'_>, Full> {
        let mut waiter = match self.0.enqueue(options.queue_max) {
            Queued::Seated => return Ok(Seat(&self.0)),
            Queued::Full => return Err(Full::Queue),
            Queued::Waits => Waiter(Some(&self.0)),
        };
        let wait = wait.min(options.queue_wait_max);
        match tokio::time::timeout(wait, self.0.given.acquire()).await {
            Ok(Ok(permit)) => {
                permit.forget();
                waiter.0 = None;
                Ok(Seat(&self.0))
            }
            Ok(Err(_)) | Err(_) => Err(Full::Waited),
        }
    }

    /// How many calls are out, those with a hold included.
    #[must_use]
    pub fn taken(&self) -> u32 {
        let owed = self.0.owed.load(Ordering::Acquire);
        self.0.now().taken().saturating_add(owed)
    }

    /// How many calls wait.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.0.now().waiting()
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
        self.0.limit.store(limit.max(1), Ordering::SeqCst);
        self.0.seat_waiters();
    }

    /// Takes over one seat that its call holds at this moment: from now on the call's own seat and this hold
    /// count as two until the call ends, and then as one until the hold is dropped.
    pub(crate) fn hold(&self) -> Hold {
        self.0.detached.fetch_add(1, Ordering::AcqRel);
        self.0.owed.fetch_add(1, Ordering::AcqRel);
        Hold(Arc::clone(&self.0))
    }
}

enum Queued {
    Seated,
    Waits,
    Full,
}

impl Room {
    fn now(&self) -> Word {
        Word(self.word.load(Ordering::SeqCst))
    }

    /// One step of the word; false when `next` wants none.
    #[inline]
    fn step(&self, next: impl Fn(Word) -> Option<u64>) -> bool {
        let next = |word| next(Word(word));
        self.word
            .try_update(Ordering::SeqCst, Ordering::Relaxed, next)
            .is_ok()
    }

    fn enqueue(&self, queue_max: u32) -> Queued {
        loop {
            let (word, limit) = (self.now(), self.limit.load(Ordering::SeqCst));
            let sits = word.waiting() == 0 && word.taken() < limit;
            if !sits && word.waiting() >= queue_max {
                return Queued::Full;
            }
            let next = word.0 + if sits { 1 } else { Word::WAITER };
            let stepped =
                self.word
                    .compare_exchange(word.0, next, Ordering::SeqCst, Ordering::Relaxed);
            match (stepped, sits) {
                (Err(_), _) => {}
                (Ok(_), true) => return Queued::Seated,
                (Ok(_), false) => {
                    // A limit that was raised meanwhile found nobody waiting.
                    self.seat_waiters();
                    return Queued::Waits;
                }
            }
        }
    }

    /// Gives free seats to those who wait.
    fn seat_waiters(&self) {
        let _giving = self.giving.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = self.limit.load(Ordering::SeqCst);
        let give = |word: Word| {
            (word.waiting() > 0 && word.taken() < limit).then(|| word.0 + 1 - Word::WAITER)
        };
        while self.step(give) {
            self.given.add_permits(1);
        }
    }

    #[inline]
    fn put_back(&self) {
        if self.owed.load(Ordering::Relaxed) == 0 || !self.forget_owed() {
            let before = Word(self.word.fetch_sub(1, Ordering::SeqCst));
            if before.waiting() > 0 {
                self.seat_waiters();
            }
        }
    }

    #[cold]
    fn forget_owed(&self) -> bool {
        let less = |owed: u32| owed.checked_sub(1);
        self.owed
            .try_update(Ordering::AcqRel, Ordering::Acquire, less)
            .is_ok()
    }

    /// One that waits goes away. When nobody is left in the word, the seat that was meant for it has been given: it
    /// is put back.
    fn leave(&self) {
        let giving = self.giving.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.step(|word| (word.waiting() > 0).then(|| word.0 - Word::WAITER));
        let unheard = if left {
            None
        } else {
            self.given.try_acquire().ok()
        };
        drop(giving);
        if let Some(permit) = unheard {
            permit.forget();
            self.put_back();
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(room) = self.0.take() {
            room.leave();
        }
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
