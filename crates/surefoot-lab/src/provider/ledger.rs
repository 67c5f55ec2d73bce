//! The books: how often each intent took effect, with which amount, and what a look-up by key finds.

use std::collections::BTreeMap;

/// What is asked of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Refund,
    Charge,
}

impl Kind {
    /// What its answer calls it.
    const fn word(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::Charge => "charge",
        }
    }
}

/// What took effect for one intent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charges {
    /// The amount of each effect, in order.
    pub(crate) amounts: Vec<u64>,
}

/// What the provider's books say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    intents: BTreeMap<String, Charges>,
    /// Answers that were held when the caller went away or when the books were read.
    pub(crate) held: usize,
    /// Calls that took effect and were never answered.
    pub(crate) unanswered: usize,
    /// Look-ups.
    pub(crate) asked: usize,
}

impl Books {
    /// How often an intent took effect.
    pub(crate) fn applied(&self, intent: &str) -> usize {
        self.intents
            .get(intent)
            .map_or(0, |charges| charges.amounts.len())
    }

    /// Whether an intent took effect with this amount.
    pub(crate) fn has(&self, intent: &str, amount: u64) -> bool {
        self.intents
            .get(intent)
            .is_some_and(|charges| charges.amounts.contains(&amount))
    }

    /// Books in which one intent took effect so often.
    #[cfg(test)]
    pub(crate) fn of(intent: &str, applied: usize) -> Self {
        let charges = Charges {
            amounts: vec![crate::intent::AMOUNT; applied],
        };
        Self {
            intents: BTreeMap::from([(intent.to_owned(), charges)]),
            ..Self::default()
        }
    }

    /// How many effects there were.
    pub(crate) fn applied_in_all(&self) -> usize {
        self.intents
            .values()
            .map(|charges| charges.amounts.len())
            .sum()
    }
}

/// Keeps the books. They grow with the intents of one run of the lab, which are bounded.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    books: Books,
    answers: BTreeMap<String, String>,
    serial: u64,
}

impl Ledger {
    /// Lets a call take effect. Answers which call of its intent it is, from 1, and the answer, which no other effect has.
    pub(super) fn apply(
        &mut self,
        kind: Kind,
        intent: &str,
        amount: u64,
        key: Option<&str>,
    ) -> (u32, String) {
        self.serial += 1;
        let answer = format!("{{\"{}\":{}}}", kind.word(), self.serial);
        if let Some(key) = key {
            self.answers
                .entry(key.to_owned())
                .or_insert_with(|| answer.clone());
        }
        let charges = self.books.intents.entry(intent.to_owned()).or_default();
        charges.amounts.push(amount);
        let number = u32::try_from(charges.amounts.len()).unwrap_or(u32::MAX);
        (number, answer)
    }

    /// The answer of the first effect under a key.
    pub(super) fn look_up(&mut self, key: &str) -> Option<String> {
        self.books.asked += 1;
        self.answers.get(key).cloned()
    }

    pub(super) fn hold(&mut self) {
        self.books.held += 1;
    }

    pub(super) fn let_go(&mut self) {
        self.books.held = self.books.held.saturating_sub(1);
    }

    pub(super) fn leave_unanswered(&mut self) {
        self.books.unanswered += 1;
    }

    pub(super) fn books(&self) -> Books {
        self.books.clone()
    }

    pub(super) fn intents_seen(&self) -> usize {
        self.books.intents.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_deduplicate_and_finds_the_first_effect() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.look_up("k"), None);
        assert_eq!(
            ledger.apply(Kind::Refund, "i", 5, Some("k")),
            (1, "{\"refund\":1}".into())
        );
        assert_eq!(
            ledger.apply(Kind::Charge, "i", 6, Some("k")),
            (2, "{\"charge\":2}".into())
        );
        assert_eq!(
            ledger.apply(Kind::Refund, "j", 7, None),
            (1, "{\"refund\":3}".into())
        );
        assert_eq!(ledger.look_up("k").as_deref(), Some("{\"refund\":1}"));
        let books = ledger.books();
        assert_eq!((books.applied("i"), books.applied("x")), (2, 0));
        assert_eq!((books.has("i", 6), books.has("i", 7)), (true, false));
        assert_eq!((books.applied_in_all(), books.asked), (3, 2));
    }
}
