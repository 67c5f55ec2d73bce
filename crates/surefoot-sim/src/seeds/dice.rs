//! Choices that depend on nothing but the seed and what they are about: leaving one thing out of a world changes no other
//! choice, so that a failure can be shrunk.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Dice for one question.
pub(super) fn dice(seed: u64, about: impl Hash) -> fastrand::Rng {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    about.hash(&mut hasher);
    fastrand::Rng::with_seed(hasher.finish())
}
