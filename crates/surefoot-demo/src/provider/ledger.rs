//! The provider's books: how often each order was called for and charged, and what a look-up by key finds.

use std::collections::BTreeMap;

/// What the books say of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Calls that arrived whole, whatever became of them.
    pub(crate) calls: u32,
    /// How often it was charged.
    pub(crate) charges: u32,
}

/// What the provider's books say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    accounts: BTreeMap<String, Account>,
    /// Look-ups.
    pub(crate) asked: u64,
}

impl Books {
    /// The account of an order.
    pub(crate) fn of(&self, order: &str) -> Account {
        self.accounts.get(order).copied().unwrap_or_default()
    }

    /// Calls that were to charge, over all orders.
    pub(crate) fn calls(&self) -> u64 {
        self.accounts.values().map(|a| u64::from(a.calls)).sum()
    }

    /// How many orders were charged more than once.
    pub(crate) fn charged_twice(&self) -> u64 {
        let twice = self.accounts.values().filter(|a| a.charges > 1);
        twice.count() as u64
    }
}

/// Keeps the books. They grow with the orders of one act, which are bounded.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    books: Books,
    answers: BTreeMap<String, String>,
    serial: u64,
}

impl Ledger {
    /// A call has arrived. Answers which one of its order it is, from 1.
    pub(super) fn arrived(&mut self, order: &str) -> u32 {
        let account = self.books.accounts.entry(order.to_owned()).or_default();
        account.calls += 1;
        account.calls
    }

    /// Lets a call take effect, and answers what its caller is told.
    pub(super) fn charge(&mut self, order: &str, key: Option<&str>) -> String {
        self.serial += 1;
        let answer = format!("{{\"charge\":{}}}", self.serial);
        if let Some(key) = key {
            let kept = self.answers.entry(key.to_owned());
            kept.or_insert_with(|| answer.clone());
        }
        let account = self.books.accounts.entry(order.to_owned()).or_default();
        account.charges += 1;
        answer
    }

    /// The answer of the first charge under a key.
    pub(super) fn look_up(&mut self, key: &str) -> Option<String> {
        self.books.asked += 1;
        self.answers.get(key).cloned()
    }

    pub(super) fn books(&self) -> Books {
        self.books.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_deduplicate_and_finds_the_first_charge() {
        let mut ledger = Ledger::default();
        assert_eq!((ledger.arrived("a"), ledger.arrived("a")), (1, 2));
        assert_eq!(ledger.look_up("k"), None);
        assert_eq!(ledger.charge("a", Some("k")), "{\"charge\":1}");
        assert_eq!(ledger.charge("a", Some("k")), "{\"charge\":2}");
        assert_eq!(ledger.look_up("k").as_deref(), Some("{\"charge\":1}"));
        ledger.arrived("b");
        let books = ledger.books();
        let twice = Account {
            calls: 2,
            charges: 2,
        };
        assert_eq!(books.of("a"), twice);
        assert_eq!(books.of("b").charges, 0);
        assert_eq!(
            (books.calls(), books.charged_twice(), books.asked),
            (3, 1, 2)
        );
    }
}
