//! Which requests came lately to this node. A repetition is then answered by one look, without a task of its own and never
//! behind a writer; a request that was not seen is claimed at once, and spared a look that finds nothing. It is a hint: what
//! is true is on record, and the claim decides again.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use surefoot_core::request::Identity;

/// How many requests one generation remembers; the one before it is remembered besides. About 1 MiB in all.
const GENERATION_MAX: usize = 32_768;

/// The requests that came lately.
#[derive(Default)]
pub(super) struct Seen {
    hash: RandomState,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashSet<u64>,
    old: HashSet<u64>,
}

impl Seen {
    /// Whether it came lately; from here on it did.
    pub(super) fn again(&self, identity: &Identity) -> bool {
        let hash = self.hash.hash_one(identity);
        let mut seen = self
            .generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let was_old = seen.old.contains(&hash);
        if !seen.young.insert(hash) {
            return true;
        }
        if seen.young.len() >= GENERATION_MAX {
            seen.old = std::mem::take(&mut seen.young);
        }
        was_old
    }
}

#[cfg(test)]
mod tests {
    use surefoot_core::id::Tenant;
    use surefoot_core::request::RequestKey;

    use super::*;

    fn identity(key: usize) -> Identity {
        Identity {
            tenant: Tenant::single(),
            key: RequestKey::new(format!("k{key}")).unwrap(),
        }
    }

    #[test]
    fn what_came_lately_is_known_and_no_more_than_two_generations() {
        let seen = Seen::default();
        for key in 0..2 * GENERATION_MAX {
            assert!(!seen.again(&identity(key)), "{key}");
            assert!(seen.again(&identity(key)), "{key}");
        }
        assert!(seen.again(&identity(2 * GENERATION_MAX - 1)));
        assert!(!seen.again(&identity(0)), "forgotten");
        let kept = seen.generations.lock().unwrap();
        assert!(kept.young.len() + kept.old.len() <= 2 * GENERATION_MAX);
    }
}
