//! How many more jobs may run: per queue, kind, and kind with concurrency key, over all nodes. The truth is the rows
//! that run, counted in the transaction of the claim.

use std::collections::HashMap;

use surefoot_core::error::StoreError;
use surefoot_core::id::{ConcurrencyKey, Tenant};
use surefoot_core::port::{Claim, KindTerms};

use super::super::ledger::Ledger;
use super::super::row::{column, count};
use super::crowd;

statements! {
    RUNNING = "-- claim: how many jobs run
        select queue, kind, count(*) from surefoot_job indexed by surefoot_job_running
        where state = 'running' group by queue, kind";
}

/// What runs, with what the claim has taken so far.
#[derive(Default)]
pub(super) struct Room {
    queues: HashMap<String, u32>,
    kinds: HashMap<String, u32>,
    keys: HashMap<(String, Tenant, ConcurrencyKey), u32>,
}

impl Room {
    /// Counts what runs, where the claim has a limit that needs it.
    pub(super) fn of(ledger: &Ledger<'_>, claim: &Claim) -> Result<Self, StoreError> {
        let mut room = Self::default();
        let limited = claim
            .kinds
            .iter()
            .any(|terms| terms.concurrency_max.is_some());
        if limited || !claim.queue_limits.is_empty() {
            let lanes = ledger.rows(RUNNING, (), |found| {
                Ok((
                    column::<String>(found, 0)?,
                    column::<String>(found, 1)?,
                    count(found, 2)?,
                ))
            })?;
            for (queue, kind, running) in lanes {
                *room.queues.entry(queue).or_default() += running;
                *room.kinds.entry(kind).or_default() += running;
            }
        }
        Ok(room)
    }

    pub(super) fn in_queue(&self, queue: &str, max: Option<u32>) -> bool {
        fits(self.queues.get(queue), max)
    }

    pub(super) fn in_kind(&self, terms: &KindTerms) -> bool {
        fits(self.kinds.get(terms.kind.as_str()), terms.concurrency_max)
    }

    pub(super) fn in_key(
        &mut self,
        ledger: &Ledger<'_>,
        terms: &KindTerms,
        tenant: &Tenant,
        key: &ConcurrencyKey,
    ) -> Result<bool, StoreError> {
        if terms.concurrency_per_key_max.is_none() {
            return Ok(true);
        }
        let group = (terms.kind.as_str().to_owned(), tenant.clone(), key.clone());
        let running = match self.keys.get(&group) {
            Some(running) => *running,
            None => {
                let running = crowd::running(ledger, &terms.kind, tenant, key)?;
                self.keys.insert(group, running);
                running
            }
        };
        Ok(fits(Some(&running), terms.concurrency_per_key_max))
    }

    /// One more job runs.
    pub(super) fn taken(
        &mut self,
        queue: &str,
        terms: &KindTerms,
        tenant: &Tenant,
        key: Option<&ConcurrencyKey>,
    ) {
        let kind = terms.kind.as_str();
        *self.queues.entry(queue.to_owned()).or_default() += 1;
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
        if let Some(key) = key
            && let Some(running) =
                self.keys
                    .get_mut(&(kind.to_owned(), tenant.clone(), key.clone()))
        {
            *running += 1;
        }
    }
}

fn fits(running: Option<&u32>, max: Option<u32>) -> bool {
    max.is_none_or(|max| running.copied().unwrap_or(0) < max)
}
