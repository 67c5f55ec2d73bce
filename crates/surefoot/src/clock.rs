//! A node's clock: the database's time at the last measurement plus what passed on the monotonic clock since.
//! The host's wall clock is never read, so hosts with skewed clocks agree. It never goes backwards.

mod follow;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::Store;
use surefoot_core::time::{Clock, Timestamp};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::bounded::{STORE_TIMEOUT, within};

/// The database's clock, as this node follows it.
///
/// When the database's clock turns out to be ahead, the node's clock steps forward at once. When it turns out to be
/// behind, the node's clock runs at half speed until both agree: it neither stands still nor goes back.
///
/// [`followed`](Self::followed) keeps it with the database's for as long as anybody holds it. What stands beside an engine takes
/// [`Engine::clock`](crate::Engine::clock).
#[derive(Debug)]
pub struct NodeClock {
    anchor: Mutex<Anchor>,
    /// What keeps it with the database's, where it does so by itself.
    follower: OnceLock<AbortHandle>,
}

impl Drop for NodeClock {
    fn drop(&mut self) {
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: Instant,
    reading: Timestamp,
    ahead: Duration,
}

impl Anchor {
    fn read(&self, now: Instant) -> Timestamp {
        let passed = now.saturating_duration_since(self.at);
        self.reading.after(passed - self.ahead.min(passed / 2))
    }
}

impl NodeClock {
    /// A clock that showed `reading` at the instant `at`.
    #[must_use]
    pub const fn new(reading: Timestamp, at: Instant) -> Self {
        Self {
            anchor: Mutex::new(Anchor {
                at,
                reading,
                ahead: Duration::ZERO,
            }),
            follower: OnceLock::new(),
        }
    }

    /// A clock that is set by the store's, and set again every 10 seconds until its last holder lets it go. Two nodes whose
    /// clocks drift apart would take one another's leases for over. Must be called inside a tokio runtime with time enabled.
    ///
    /// # Errors
    /// What the store answered at first; unavailable when it did not within [`STORE_TIMEOUT`]. A later reading that fails is logged.
    pub async fn followed(store: Arc<dyn Store>) -> Result<Arc<Self>, StoreError> {
        Self::followed_within(store, STORE_TIMEOUT).await
    }

    /// As [`followed`](Self::followed), for a store that is waited for for `store_timeout`.
    pub(crate) async fn followed_within(
        store: Arc<dyn Store>,
        store_timeout: Duration,
    ) -> Result<Arc<Self>, StoreError> {
        let clock = Arc::new(within(store_timeout, Self::measured(&*store)).await?);
        let follower = follow::run(store, Arc::downgrade(&clock), store_timeout);
        let _ = clock.follower.set(tokio::spawn(follower).abort_handle());
        Ok(clock)
    }

    /// A clock set by the store's. The first answer may have had to wait for a connection, and half of that would be its
    /// error: a client that is ahead hands in jobs that are not due yet elsewhere. So the store is asked once more, and
    /// the second answer counts if it is the quicker one.
    ///
    /// # Errors
    /// What the store answered at first.
    pub async fn measured(store: &dyn Store) -> Result<Self, StoreError> {
        let first = Measured::from(store).await?;
        let second = tokio::time::timeout(first.took, Measured::from(store)).await;
        let best = match second {
            Ok(Ok(second)) if second.took < first.took => second,
            Ok(Ok(_) | Err(_)) | Err(_) => first,
        };
        Ok(Self::new(best.reading, best.at))
    }

    /// Sets the clock by what the database said between two instants; half of the round trip is taken off.
    pub fn set(&self, database: Timestamp, asked: Instant, answered: Instant) {
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = anchor.read(answered);
        let target = database.after(answered.saturating_duration_since(halfway(asked, answered)));
        *anchor = Anchor {
            at: answered,
            reading: shown.max(target),
            ahead: shown.since(target),
        };
    }
}

/// What the store's clock showed.
struct Measured {
    reading: Timestamp,
    at: Instant,
    took: Duration,
}

impl Measured {
    async fn from(store: &dyn Store) -> Result<Self, StoreError> {
        let asked = Instant::now();
        let reading = store.database_now().await?;
        let answered = Instant::now();
        Ok(Self {
            reading,
            at: halfway(asked, answered),
            took: answered.saturating_duration_since(asked),
        })
    }
}

fn halfway(asked: Instant, answered: Instant) -> Instant {
    asked + answered.saturating_duration_since(asked) / 2
}

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        self.anchor
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .read(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use surefoot_testkit::{Fault, FaultyStore, MemoryStore, TokioClock, Verb};

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[tokio::test(start_paused = true)]
    async fn it_follows_the_monotonic_clock() {
        let clock = NodeClock::new(at(1000), Instant::now());
        tokio::time::advance(s(5)).await;
        assert_eq!(clock.now(), at(1005));
    }

    /// A first call that connects for four seconds and reads the time at their end would set it two seconds ahead.
    #[tokio::test(start_paused = true)]
    async fn it_is_set_by_the_quickest_answer() {
        let store = FaultyStore::over(
            Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(at(
                1000,
            ))))),
            1,
        );
        store.next(Verb::DatabaseNow, Fault::Delay(s(4)));
        let clock = NodeClock::measured(&store).await.unwrap();
        assert_eq!(clock.now(), store.database_now().await.unwrap());
        assert_eq!(clock.now(), at(1004));
    }

    #[tokio::test(start_paused = true)]
    async fn it_steps_forward_at_once_and_takes_off_half_of_the_round_trip() {
        let clock = NodeClock::new(at(1000), Instant::now());
        let asked = Instant::now();
        tokio::time::advance(s(4)).await;
        clock.set(at(2000), asked, Instant::now());
        assert_eq!(clock.now(), at(2002));
    }

    #[tokio::test(start_paused = true)]
    async fn it_follows_a_store_that_runs_ahead_and_that_does_not_always_answer() {
        let store = MemoryStore::new(Arc::new(TokioClock::starting_at(at(1000))));
        let store = Arc::new(FaultyStore::over(Arc::new(store), 1));
        let clock = Arc::new(NodeClock::new(at(400), Instant::now()));
        store.next(Verb::DatabaseNow, Fault::Before);
        let followed = async |seconds| {
            let follower = follow::run(store.clone(), Arc::downgrade(&clock), STORE_TIMEOUT);
            let following = tokio::time::timeout(s(seconds), follower);
            assert!(following.await.is_err(), "the clock is held");
        };
        followed(19).await;
        assert_eq!(clock.now(), at(419));
        followed(11).await;
        assert_eq!(clock.now(), store.database_now().await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn it_follows_the_store_until_nobody_holds_it() {
        let database = Arc::new(TokioClock::starting_at(at(1000)));
        let store = FaultyStore::over(Arc::new(MemoryStore::new(database.clone())), 1);
        let store: Arc<dyn Store> = Arc::new(store);
        let clock = NodeClock::followed(Arc::clone(&store)).await.unwrap();
        let held = Arc::clone(&clock);
        drop(clock);
        held.set(at(500), Instant::now(), Instant::now());
        let ahead = Arc::strong_count(&store);
        tokio::time::sleep(s(3 * 1000)).await;
        assert_eq!(held.now(), database.now(), "what put it wrong is made good");
        assert_eq!(ahead, 2, "the follower reads the store");
        drop(held);
        tokio::time::sleep(s(1)).await;
        assert_eq!(Arc::strong_count(&store), 1, "and lets it go");
    }

    #[tokio::test(start_paused = true)]
    async fn it_slows_down_where_the_database_went_back() {
        let clock = NodeClock::new(at(5000), Instant::now());
        clock.set(at(1400), Instant::now(), Instant::now());
        let mut last = clock.now();
        assert_eq!(last, at(5000));
        for _ in 0..100 {
            tokio::time::advance(s(100)).await;
            assert!(clock.now() >= last.after(s(50)), "it moves on");
            last = clock.now();
        }
        assert_eq!(
            last,
            at(1400 + 100 * 100),
            "it agrees again after twice the difference"
        );
    }
}
