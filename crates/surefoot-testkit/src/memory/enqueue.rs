//! Enqueue: an id is one call, a key is one job.

use std::collections::BTreeMap;

use surefoot_core::id::Epoch;
use surefoot_core::job::{Counts, Job, JobState};
use surefoot_core::port::{Enqueued, NewJob};
use surefoot_core::time::Timestamp;

use super::table::{Row, Table};

impl Table {
    pub(super) fn enqueue(&mut self, new: &NewJob, now: Timestamp) -> Enqueued {
        if self.rows.contains_key(&new.id) {
            return Enqueued::Created(new.id);
        }
        if let Some(key) = &new.key {
            let identity = (new.tenant.clone(), new.kind.clone(), key.clone());
            if let Some(first) = self.keys.get(&identity).and_then(|id| self.rows.get(id)) {
                return if first.original.same_as(&new.payload) {
                    Enqueued::Existing(first.job.id)
                } else {
                    Enqueued::Conflict(first.job.id)
                };
            }
            self.keys.insert(identity, new.id);
        }
        self.arrivals += 1;
        self.rows.insert(new.id, row(new, self.arrivals, now));
        Enqueued::Created(new.id)
    }
}

fn row(new: &NewJob, arrival: u64, now: Timestamp) -> Row {
    Row {
        job: Job {
            id: new.id,
            tenant: new.tenant.clone(),
            kind: new.kind.clone(),
            key: new.key.clone(),
            queue: new.queue.clone(),
            priority: new.priority,
            order_key: new.order_key.clone(),
            concurrency_key: new.concurrency_key.clone(),
            payload: new.payload.clone(),
            revision: 0,
            generation: 1,
            trace: new.trace.clone(),
            enqueued_at: now,
            deadline_at: new.deadline_at,
            counts: Counts::default(),
            state: JobState::Pending {
                due_at: new.run_at.unwrap_or(now),
            },
        },
        arrival,
        original: new.payload.clone(),
        epoch: Epoch::NEVER,
        stop_asked: false,
        effects: BTreeMap::new(),
        attempts: Vec::new(),
        revisions: Vec::new(),
        actions: Vec::new(),
    }
}
