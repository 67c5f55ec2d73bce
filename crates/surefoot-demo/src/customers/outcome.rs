//! What customers were told of each order, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::Intent;

/// What a customer was told in the end. A later one outweighs an earlier one where two clicks were told differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    /// Nothing that says what became of it: errors and time-outs, until the telephone gave up.
    Nothing,
    /// It was refused, for good.
    Refused,
    /// A person looks into it.
    Person,
    /// It is paid.
    Paid,
}

/// What one click was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Click {
    pub(crate) told: Told,
    /// How long until there was any answer to read.
    pub(crate) answered_after: Duration,
    /// How long until it was told this.
    pub(crate) after: Duration,
}

/// What customers were told of each order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    orders: BTreeMap<String, Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    hopeless: bool,
    clicks: u32,
    told: Vec<Click>,
}

impl Outcomes {
    pub(super) fn begins(&mut self, intent: &Intent) {
        let known = Known {
            hopeless: intent.is_hopeless(),
            clicks: intent.clicks,
            told: Vec::new(),
        };
        self.orders.insert(intent.order.clone(), known);
    }

    pub(super) fn told(&mut self, order: &str, click: Click) {
        self.orders
            .entry(order.to_owned())
            .or_default()
            .told
            .push(click);
    }

    /// How many orders have been placed.
    pub(crate) fn placed(&self) -> usize {
        self.orders.len()
    }

    /// How many of them are not known yet.
    pub(crate) fn open(&self) -> usize {
        self.orders.values().filter(|known| known.is_open()).count()
    }

    /// The same, without those that the provider never answers in time.
    pub(crate) fn open_with_hope(&self) -> usize {
        let open = self.orders.values().filter(|known| known.is_open());
        open.filter(|known| !known.hopeless).count()
    }

    /// What the customer of an order was told in the end: the click that was told most.
    pub(crate) fn of(&self, order: &str) -> Option<Click> {
        let known = self.orders.get(order)?;
        let most = known.told.iter().map(|click| click.told).max()?;
        let these = known.told.iter().filter(|click| click.told == most);
        these.min_by_key(|click| click.after).copied()
    }

    /// Of all clicks that ended: how long they took, the shortest first.
    pub(crate) fn latencies(&self) -> Vec<Duration> {
        let all = self.orders.values().flat_map(|known| &known.told);
        let mut all: Vec<Duration> = all.map(|click| click.after).collect();
        all.sort_unstable();
        all
    }
}

impl Known {
    fn is_open(&self) -> bool {
        (self.told.len() as u64) < u64::from(self.clicks)
    }
}
