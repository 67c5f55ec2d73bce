//! Claim: who may run, in which order, and how many at once.
//!
//! A job may run when it waits and is due, its deadline is ahead or it is verifying, the claim serves its kind and its queue, its
//! queue is not paused, and it is its turn under its order key. Those that may are ranked within their queue by
//! priority, due time and age, and taken rank by rank over the queues by name, as far as the limits allow.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use surefoot_core::id::{ConcurrencyKey, JobId, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::{Attempt, JobState, LeasedJob, Run, StateName};
use surefoot_core::port::{BATCH_MAX, Claim, KindTerms, Queues};
use surefoot_core::time::Timestamp;

use super::table::{Row, Table};

impl Table {
    pub(super) fn claim(&mut self, claim: &Claim, now: Timestamp) -> Vec<LeasedJob> {
        let mut running = Running::of(self);
        let mut leased = Vec::new();
        for id in self.candidates(claim, now) {
            if leased.len() >= BATCH_MAX.min(claim.max as usize) {
                break;
            }
            let Some(row) = self.rows.get_mut(&id) else {
                continue;
            };
            let Some(terms) = terms(claim, &row.job.kind) else {
                continue;
            };
            if running.leaves_room(row, terms, claim) {
                running.count(row);
                leased.push(start(row, terms, claim, now));
            }
        }
        leased
    }

    /// When the next job of the claim's kinds and queues becomes due.
    pub(super) fn next_due(&self, claim: &Claim, now: Timestamp) -> Option<Timestamp> {
        let served = self.rows.values().filter(|row| self.serves(claim, row));
        served
            .filter_map(Row::waits_until)
            .filter(|due_at| *due_at > now)
            .min()
    }

    /// The jobs that may run, in the order in which they are taken.
    fn candidates(&self, claim: &Claim, now: Timestamp) -> Vec<JobId> {
        let turns = Turns::of(self);
        let mut queues: BTreeMap<&Queue, Vec<&Row>> = BTreeMap::new();
        for row in self.rows.values() {
            if row.is_due(now) && self.serves(claim, row) && turns.come(row) {
                queues.entry(&row.job.queue).or_default().push(row);
            }
        }
        let mut ranked = Vec::new();
        for (queue, mut rows) in queues {
            rows.sort_by_key(|row| (Reverse(row.job.priority), row.waits_until(), row.arrival));
            ranked.extend(
                rows.iter()
                    .enumerate()
                    .map(|(rank, row)| (rank, queue, row.job.id)),
            );
        }
        ranked.sort();
        ranked.into_iter().map(|(_, _, id)| id).collect()
    }

    fn serves(&self, claim: &Claim, row: &Row) -> bool {
        let queue = &row.job.queue;
        let queue_served = match &claim.queues {
            Queues::All => true,
            Queues::Only(queues) => queues.contains(queue),
        };
        queue_served && !self.pauses.contains_key(queue) && terms(claim, &row.job.kind).is_some()
    }
}

impl Row {
    fn is_due(&self, now: Timestamp) -> bool {
        self.waits_until().is_some_and(|due_at| due_at <= now)
            && (self.job.state.name() == StateName::Verifying
                || self.job.deadline_at.is_none_or(|deadline| deadline > now))
    }
}

fn terms<'a>(claim: &'a Claim, kind: &Kind) -> Option<&'a KindTerms> {
    claim.kinds.iter().find(|terms| terms.kind == *kind)
}

fn start(row: &mut Row, terms: &KindTerms, claim: &Claim, now: Timestamp) -> LeasedJob {
    row.epoch = row.epoch.next();
    row.job.counts.starts += 1;
    let run = Run {
        epoch: row.epoch,
        worker: claim.worker.clone(),
        started_at: now,
        lease_until: now.after(terms.lease),
        recovery: terms.recovery,
        cancel_requested: std::mem::take(&mut row.stop_asked),
    };
    row.attempts.push(Attempt {
        number: row.job.counts.starts,
        epoch: run.epoch,
        worker: run.worker.clone(),
        started_at: now,
        ended_at: None,
        outcome: None,
        error: None,
        late: None,
    });
    row.job.state = JobState::Running(run.clone());
    row.job.clone().map_state(|_| run)
}

/// Whose turn it is under each order key: the job that was started and is not settled, or else the oldest pending.
#[derive(Default)]
struct Turns<'a> {
    started: BTreeMap<(&'a Tenant, &'a OrderKey), JobId>,
    oldest: BTreeMap<(&'a Tenant, &'a OrderKey), (u64, JobId)>,
}

impl<'a> Turns<'a> {
    fn of(table: &'a Table) -> Self {
        let mut turns = Self::default();
        for row in table.rows.values() {
            let Some(order_key) = &row.job.order_key else {
                continue;
            };
            let lane = (&row.job.tenant, order_key);
            match row.job.state.name() {
                StateName::Running | StateName::Retrying | StateName::Verifying => {
                    turns.started.insert(lane, row.job.id);
                }
                StateName::Pending => {
                    let this = (row.arrival, row.job.id);
                    let oldest = turns.oldest.entry(lane).or_insert(this);
                    *oldest = this.min(*oldest);
                }
                StateName::Succeeded
                | StateName::Dead
                | StateName::Cancelled
                | StateName::Ignored => {}
            }
        }
        turns
    }

    fn come(&self, row: &Row) -> bool {
        let Some(order_key) = &row.job.order_key else {
            return true;
        };
        let lane = (&row.job.tenant, order_key);
        match (self.started.get(&lane), self.oldest.get(&lane)) {
            (Some(started), _) => *started == row.job.id,
            (None, Some((_, oldest))) => *oldest == row.job.id,
            (None, None) => true,
        }
    }
}

/// How many jobs run per queue, kind, and kind with concurrency key.
#[derive(Default)]
struct Running {
    queues: BTreeMap<Queue, u32>,
    kinds: BTreeMap<Kind, u32>,
    keys: BTreeMap<(Kind, Tenant, ConcurrencyKey), u32>,
}

impl Running {
    fn of(table: &Table) -> Self {
        let mut running = Self::default();
        for row in table.rows.values().filter(|row| row.run().is_some()) {
            running.count(row);
        }
        running
    }

    fn count(&mut self, row: &Row) {
        *self.queues.entry(row.job.queue.clone()).or_default() += 1;
        *self.kinds.entry(row.job.kind.clone()).or_default() += 1;
        if let Some(key) = shared_key(row) {
            *self.keys.entry(key).or_default() += 1;
        }
    }

    fn leaves_room(&self, row: &Row, terms: &KindTerms, claim: &Claim) -> bool {
        let fits = |running: Option<&u32>, max: Option<u32>| {
            max.is_none_or(|max| running.copied().unwrap_or(0) < max)
        };
        let queue_max = claim.queue_limits.get(&row.job.queue).copied();
        fits(self.queues.get(&row.job.queue), queue_max)
            && fits(self.kinds.get(&row.job.kind), terms.concurrency_max)
            && shared_key(row)
                .is_none_or(|key| fits(self.keys.get(&key), terms.concurrency_per_key_max))
    }
}

fn shared_key(row: &Row) -> Option<(Kind, Tenant, ConcurrencyKey)> {
    let key = row.job.concurrency_key.clone()?;
    Some((row.job.kind.clone(), row.job.tenant.clone(), key))
}
