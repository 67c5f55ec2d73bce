//! Settlements on their way to the store. Each is repeated until it was answered, so an answer that was lost does no
//! harm; one that the store cannot take does not hold up the others. What is in here is held under its lease.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{BATCH_MAX, Settled};
use surefoot_core::settle::{Next, Settlement};
use tokio::time::Instant;

use super::attempt::Ended;
use super::node::Node;
use crate::observe::Event;
use crate::running::Running;
use crate::settled::tell_settled;

/// How often the store may refuse a settlement, while it takes others, before it is given up.
const REFUSALS_MAX: u32 = 10;
/// How long a refused settlement is set aside, so that others and claims go on.
const SET_ASIDE: Duration = Duration::from_secs(1);

/// See the module. It holds at most one settlement for each slot of the engine and each job claimed meanwhile.
pub(super) struct Backlog {
    waiting: VecDeque<Waiting>,
    aside: VecDeque<(Instant, Waiting)>,
    batch_max: usize,
    /// How many calls the store has answered; it tells a settlement that is at fault from a store that is.
    answers: u64,
}

struct Waiting {
    job: LeasedJob,
    running: Arc<Running>,
    settlement: Settlement,
    refusals: u32,
    refused_at: u64,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            aside: VecDeque::new(),
            batch_max: BATCH_MAX,
            answers: 0,
        }
    }

    /// How many are not written yet.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.aside.len()
    }

    /// Whether there is one to send now.
    pub(super) fn is_ready(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes in an attempt that ended.
    pub(super) fn push(&mut self, node: &Node, ended: Ended) {
        let Ended {
            job,
            running,
            settlement,
        } = ended;
        match settlement {
            Some(settlement) => self.waiting.push_back(Waiting {
                job,
                running,
                settlement,
                refusals: 0,
                refused_at: 0,
            }),
            None => forget(node, &running),
        }
    }

    /// Takes back what was set aside long enough.
    pub(super) fn take_back(&mut self, now: Instant) {
        while self.aside.front().is_some_and(|(until, _)| *until <= now) {
            self.waiting
                .extend(self.aside.pop_front().map(|(_, waiting)| waiting));
        }
    }

    /// The settlements to send next.
    pub(super) fn batch(&self) -> Vec<Settlement> {
        let batch = self.waiting.iter().take(self.batch_max);
        batch.map(|waiting| waiting.settlement.clone()).collect()
    }

    /// The store answered the batch, which may have been empty.
    pub(super) fn answered(&mut self, node: &Node, answers: &[Settled]) {
        self.answers += 1;
        for settled in answers {
            let Some(waiting) = self.waiting.pop_front() else {
                return;
            };
            tell_settled(&node.client, &waiting.job, &waiting.settlement, *settled);
            if let Next::Pending { .. } = waiting.settlement.next {
                node.client.announce(&waiting.job.queue);
            }
            forget(node, &waiting.running);
        }
        self.batch_max = (self.batch_max * 2).min(BATCH_MAX);
    }

    /// The store did not take a batch of `sent` settlements. Where it may be the fault of one of them, batches shrink
    /// until that one stands alone; it is set aside, and given up when the store goes on to take others but not it.
    pub(super) fn failed(&mut self, node: &Node, sent: usize, error: &StoreError) {
        if error.is_transient() || sent == 0 {
            return;
        }
        self.batch_max = (sent / 2).max(1);
        if sent > 1 {
            return;
        }
        let Some(mut waiting) = self.waiting.pop_front() else {
            return;
        };
        if self.answers > waiting.refused_at {
            waiting.refusals += 1;
            waiting.refused_at = self.answers;
        }
        if waiting.refusals < REFUSALS_MAX {
            self.aside.push_back((Instant::now() + SET_ASIDE, waiting));
            return;
        }
        let (job, epoch) = (waiting.job.id, waiting.settlement.fence.epoch);
        tracing::error!(%job, %epoch, %error, "a settlement is given up, its attempt will be found lost");
        node.client
            .observer()
            .on(&Event::SettlementDropped { job, epoch });
        forget(node, &waiting.running);
    }
}

fn forget(node: &Node, running: &Running) {
    node.client
        .local()
        .running
        .remove(running.job, running.epoch);
}
