//! What is counted: the provider's books against what the contestant says.

use serde::Serialize;

use crate::intent::AMOUNT;
use crate::provider::Books;
use crate::standing::Standing;

/// How many intents came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Took effect more than once.
    pub charged_twice: usize,
    /// Never took effect as it was first asked for, and no person is asked.
    pub never_charged: usize,
    /// Neither ended nor visibly waiting for a person in time, be it that it did later.
    pub not_terminal: usize,
    /// Had ended, and ended otherwise later: somebody wrote who had lost the right to.
    pub stale_write: usize,
    /// Told as failed though it took effect.
    pub told_failed: usize,
    /// Done.
    pub done: usize,
    /// Unknown, and visibly waiting for a person.
    pub waits_for_person: usize,
}

/// One intent when everything had ended for the first time, and at the very end.
pub(crate) struct Seen<'a> {
    pub(crate) intent: &'a str,
    pub(crate) ended: &'a [Standing],
    pub(crate) at_last: &'a [Standing],
}

impl Count {
    /// Whether nothing is other than it should be.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.charged_twice == 0
            && self.never_charged == 0
            && self.not_terminal == 0
            && self.stale_write == 0
            && self.told_failed == 0
    }

    /// Adds what was counted elsewhere.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.charged_twice += other.charged_twice;
        self.never_charged += other.never_charged;
        self.not_terminal += other.not_terminal;
        self.stale_write += other.stale_write;
        self.told_failed += other.told_failed;
        self.done += other.done;
        self.waits_for_person += other.waits_for_person;
    }

    /// Adds one intent.
    pub(crate) fn add(&mut self, seen: &Seen<'_>, books: &Books) {
        let applied = books.applied(seen.intent);
        let is = |one: fn(&Standing) -> bool| seen.at_last.iter().any(one);
        let person = is(|standing| matches!(standing, Standing::Person(_)));
        let failed = is(|standing| matches!(standing, Standing::Failed(_)));
        let rewritten = seen
            .ended
            .iter()
            .zip(seen.at_last)
            .any(|(ended, at_last)| !ended.is_open() && ended != at_last);
        self.charged_twice += usize::from(applied > 1);
        self.never_charged += usize::from(!books.has(seen.intent, AMOUNT) && !person);
        let open = seen.ended.iter().chain(seen.at_last).any(Standing::is_open);
        self.not_terminal += usize::from(open || seen.at_last.is_empty());
        self.stale_write += usize::from(rewritten);
        self.told_failed += usize::from(failed && applied > 0);
        self.done += usize::from(is(|standing| matches!(standing, Standing::Done(_))));
        self.waits_for_person += usize::from(person);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Books;

    #[test]
    fn each_column_counts_its_own() {
        let done = |result: &str| Standing::Done(result.to_owned());
        let person = [Standing::Person(String::new())];
        let failed = [Standing::Failed(String::new())];
        let clean = Count::default();
        // How often it took effect, how it stood when all had ended, how it stands at last, and what that counts as.
        let table: [(usize, &[Standing], &[Standing], Count); 8] = [
            (1, &[done("1")], &[done("1")], Count { done: 1, ..clean }),
            (
                1,
                &person,
                &person,
                Count {
                    waits_for_person: 1,
                    ..clean
                },
            ),
            (
                0,
                &person,
                &person,
                Count {
                    waits_for_person: 1,
                    ..clean
                },
            ),
            (
                2,
                &[done("1")],
                &[done("1")],
                Count {
                    charged_twice: 1,
                    done: 1,
                    ..clean
                },
            ),
            (
                0,
                &[done("1")],
                &[done("1")],
                Count {
                    never_charged: 1,
                    done: 1,
                    ..clean
                },
            ),
            (
                1,
                &[Standing::Open],
                &[Standing::Open],
                Count {
                    not_terminal: 1,
                    ..clean
                },
            ),
            (
                1,
                &[done("1")],
                &[done("2")],
                Count {
                    stale_write: 1,
                    done: 1,
                    ..clean
                },
            ),
            (
                1,
                &failed,
                &failed,
                Count {
                    told_failed: 1,
                    ..clean
                },
            ),
        ];
        for (applied, ended, at_last, expected) in table {
            let books = Books::of("i", applied);
            let mut count = Count::default();
            count.add(
                &Seen {
                    intent: "i",
                    ended,
                    at_last,
                },
                &books,
            );
            assert_eq!(count, expected, "{applied} {ended:?} {at_last:?}");
        }
    }

    #[test]
    fn an_intent_that_nobody_knows_of_is_lost() {
        let mut count = Count::default();
        count.add(
            &Seen {
                intent: "i",
                ended: &[],
                at_last: &[],
            },
            &Books::default(),
        );
        assert_eq!((count.never_charged, count.not_terminal), (1, 1));
        assert!(!count.is_clean());
    }
}
