//! Answers with their age. One caller asks per key; when it goes away in the middle, the next one takes over;
//! when it fails, nobody asks again for a while. No lock is held while anybody asks.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::StaleOptions;
use super::serve::{Drill, Served, Source};
use crate::clock::{Clock, Moment};
use crate::dependency::Dependency;
use crate::event::Event;

/// How many entries are looked at to find one to give up: the oldest of a few, not the oldest of all.
const EVICTION_SAMPLE: usize = 32;

/// A bounded cache that can serve what is stale.
pub struct StaleCache<K, V> {
    options: StaleOptions,
    clock: Arc<dyn Clock>,
    slots: Mutex<HashMap<K, Arc<Slot<V>>>>,
}

struct Slot<V> {
    /// Held by the one who asks.
    flight: tokio::sync::Mutex<()>,
    kept: Mutex<Kept<V>>,
}

struct Kept<V> {
    answer: Option<(V, Moment)>,
    failed_at: Option<Moment>,
}

/// There is no answer to serve.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError<E> {
    /// Asking failed, and no answer is young enough.
    #[error("asking failed and no answer is young enough")]
    Failed(#[source] E),
    /// Asking failed a moment ago, and no answer is young enough.
    #[error("asking failed a moment ago and no answer is young enough")]
    FailedRecently,
}

impl<K: Eq + Hash + Clone, V: Clone> StaleCache<K, V> {
    /// An empty cache.
    pub fn new(options: StaleOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            options,
            clock,
            slots: Mutex::new(HashMap::new()),
        }
    }

    /// The answer for `key`: fresh from the cache, stale while another caller asks, by `ask`, or stale because
    /// asking failed.
    ///
    /// # Errors
    /// [`CacheError`] when asking failed and nothing is young enough.
    pub async fn get<E, F>(
        &self,
        key: &K,
        ask: impl FnOnce() -> F,
    ) -> Result<Served<V>, CacheError<E>>
    where
        F: Future<Output = Result<V, E>>,
    {
        let slot = self.slot(key);
        if let Some(served) = self.without_asking(&slot) {
            return Ok(served);
        }
        let _flight = match slot.flight.try_lock() {
            Ok(flight) => flight,
            Err(_) => match self.stale(&slot, self.options.while_revalidating) {
                Some(served) => return Ok(served),
                None => slot.flight.lock().await,
            },
        };
        // Whoever asked before may have got the answer, or have failed just now.
        if let Some(served) = self.without_asking(&slot) {
            return Ok(served);
        }
        if self.failed_recently(&slot) {
            return Err(CacheError::FailedRecently);
        }
        match ask().await {
            Ok(value) => {
                let mut kept = slot.lock();
                kept.answer = Some((value.clone(), self.clock.now()));
                kept.failed_at = None;
                Ok(Served {
                    value,
                    source: Source::Live,
                })
            }
            Err(error) => {
                slot.lock().failed_at = Some(self.clock.now());
                self.stale(&slot, self.options.if_error)
                    .ok_or(CacheError::Failed(error))
            }
        }
    }

    /// Proves that the answer kept for `key` would be served if `dependency` were away at this moment. Nobody is
    /// asked, and nothing that is kept changes.
    pub fn drill(&self, dependency: &Dependency, key: &K) -> Drill {
        let started = self.clock.now();
        let slot = self.lock().get(key).map(Arc::clone);
        let engaged = slot.is_some_and(|slot| self.stale(&slot, self.options.if_error).is_some());
        dependency.emit(|| Event::Drilled { engaged });
        Drill {
            engaged,
            took: self.clock.now().since(started),
        }
    }

    /// How many keys are kept.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A fresh answer, or a stale one while nobody is to ask.
    fn without_asking(&self, slot: &Slot<V>) -> Option<Served<V>> {
        let most = if self.failed_recently(slot) {
            self.options.if_error
        } else {
            self.options.fresh
        };
        self.stale(slot, most)
    }

    fn failed_recently(&self, slot: &Slot<V>) -> bool {
        let failed_at = slot.lock().failed_at;
        failed_at.is_some_and(|at| self.clock.now().since(at) < self.options.retry_every)
    }

    fn stale(&self, slot: &Slot<V>, age_max: Duration) -> Option<Served<V>> {
        let kept = slot.lock();
        let (value, at) = kept.answer.as_ref()?;
        let age = self.clock.now().since(*at);
        (age < age_max).then(|| Served {
            value: value.clone(),
            source: if age < self.options.fresh {
                Source::Fresh { age }
            } else {
                Source::Stale { age }
            },
        })
    }

    fn slot(&self, key: &K) -> Arc<Slot<V>> {
        let mut slots = self.lock();
        if let Some(slot) = slots.get(key) {
            return Arc::clone(slot);
        }
        if slots.len() >= self.options.entries_max {
            give_up_one(&mut slots);
        }
        let slot = Arc::new(Slot {
            flight: tokio::sync::Mutex::new(()),
            kept: Mutex::new(Kept {
                answer: None,
                failed_at: None,
            }),
        });
        slots.insert(key.clone(), Arc::clone(&slot));
        slot
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Arc<Slot<V>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Slot<V> {
    fn lock(&self) -> MutexGuard<'_, Kept<V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the oldest of a sample; an empty slot is older than any answer.
fn give_up_one<K: Eq + Hash + Clone, V>(slots: &mut HashMap<K, Arc<Slot<V>>>) {
    let age = |slot: &Slot<V>| slot.lock().answer.as_ref().map(|(_, at)| *at);
    let oldest = slots
        .iter()
        .take(EVICTION_SAMPLE)
        .min_by_key(|(_, slot)| age(slot))
        .map(|(key, _)| key.clone());
    if let Some(key) = oldest {
        slots.remove(&key);
    }
}

impl<K, V> std::fmt::Debug for StaleCache<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaleCache")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
