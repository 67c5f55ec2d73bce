//! Label values that callers choose, kept few: beyond a limit they are folded into one.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// What kinds and queues beyond the limit are called.
pub(crate) const OTHER: &str = "other";

/// The first names that came, up to a limit.
#[derive(Debug)]
pub(crate) struct Names {
    known: RwLock<HashSet<String>>,
    max: usize,
}

impl Names {
    pub(crate) fn up_to(max: usize) -> Self {
        Self {
            known: RwLock::default(),
            max,
        }
    }

    /// `name` when it is one of the first, else [`OTHER`].
    pub(crate) fn fold<'a>(&self, name: &'a str) -> &'a str {
        if self
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(name)
        {
            return name;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.contains(name) {
            return name;
        }
        if known.len() >= self.max {
            return OTHER;
        }
        known.insert(name.to_owned());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_are_one() {
        let names = Names::up_to(2);
        let folded: Vec<&str> = ["a", "b", "c", "a", "d", "b"]
            .map(|name| names.fold(name))
            .to_vec();
        assert_eq!(folded, ["a", "b", OTHER, "a", OTHER, "b"]);
    }
}
