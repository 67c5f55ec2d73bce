//! Which queues a claim takes from: those it names, or all there are, but for the paused ones.

use std::collections::HashSet;

use surefoot_core::error::StoreError;
use surefoot_core::port::{Claim, Queues};

use super::super::ledger::Ledger;
use super::super::row::column;
use super::{crowd, levels};

statements! {
    PAUSED = "-- claim: the paused queues
        select queue from surefoot_queue_pause";
}

/// The queues of a claim.
pub(super) struct Served<'a> {
    /// By name; `None` for all.
    only: Option<Vec<&'a str>>,
    paused: HashSet<String>,
}

impl<'a> Served<'a> {
    pub(super) fn of(ledger: &Ledger<'_>, claim: &'a Claim) -> Result<Self, StoreError> {
        let only = match &claim.queues {
            Queues::All => None,
            Queues::Only(queues) => {
                let mut names: Vec<_> = queues.iter().map(|queue| queue.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                Some(names)
            }
        };
        let paused = ledger.rows(PAUSED, (), |found| column(found, 0))?;
        Ok(Self {
            only,
            paused: paused.into_iter().collect(),
        })
    }

    /// The next queue by name that may have jobs to claim.
    pub(super) fn next(
        &self,
        ledger: &Ledger<'_>,
        after: &str,
    ) -> Result<Option<String>, StoreError> {
        self.step(after, |after| {
            let ready = levels::next_queue(ledger.connection(), levels::READY, after)?;
            let crowded = crowd::next_queue(ledger, after)?;
            Ok(earlier(ready, crowded))
        })
    }

    /// The next queue by name that may have jobs of this readiness.
    pub(super) fn next_of(
        &self,
        ledger: &Ledger<'_>,
        readiness: &str,
        after: &str,
    ) -> Result<Option<String>, StoreError> {
        self.step(after, |after| {
            levels::next_queue(ledger.connection(), readiness, after)
        })
    }

    fn step(
        &self,
        after: &str,
        seek: impl Fn(&str) -> Result<Option<String>, StoreError>,
    ) -> Result<Option<String>, StoreError> {
        let mut after = after.to_owned();
        loop {
            let next = match &self.only {
                None => seek(&after)?,
                Some(names) => names
                    .iter()
                    .find(|name| **name > after.as_str())
                    .map(|name| (*name).to_owned()),
            };
            match next {
                Some(queue) if self.paused.contains(&queue) => after = queue,
                other => return Ok(other),
            }
        }
    }
}

fn earlier(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
