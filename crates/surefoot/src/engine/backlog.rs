//! Settlements on their way to the store. Each is repeated until it was answered, so an answer that was lost does no
//! harm; one that the store cannot take does not hold up the others. What is in here is held under its lease.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{BATCH_MAX, Settled};
use surefoot_core::settle::{Next, Settlement};
use surefoot_core::text::ErrorText;
use tokio::time::Instant;

use super::attempt::{End, Ended};
use super::node::Node;
use crate::observe::Event;
use crate::running::Running;
use crate::settled::{spoken, tell_settled};

/// The most late reports that wait to be kept.
const LATE_MAX: usize = 1000;
/// How often the store may refuse a settlement by itself, while it takes others, before it is given up.
const REFUSALS_MAX: u32 = 10;
/// How long a refused settlement is set aside at first; it doubles with each refusal.
const ASIDE_FIRST: Duration = Duration::from_secs(1);
/// The longest time that a refused settlement is set aside.
const ASIDE_LONGEST: Duration = Duration::from_secs(8);

/// See the module. It holds at most one settlement for each slot of the engine and each job claimed meanwhile.
pub(super) struct Backlog {
    waiting: VecDeque<Waiting>,
    /// Those that were refused: each is tried by itself, at its time. The next one to try is the first.
    suspects: VecDeque<Suspect>,
    /// What is to be kept on the records of attempts that were lost.
    late: VecDeque<Late>,
    batch_max: usize,
    /// How many calls the store has answered; it tells a settlement that is at fault from a store that is.
    answers: u64,
}

struct Waiting {
    job: Arc<LeasedJob>,
    running: Arc<Running>,
    settlement: Settlement,
    /// What the handler may have committed in a transaction of its own: to be tried where the settlement is stale.
    handed: Option<Box<Settlement>>,
}

/// What a holder said that had lost its lease.
pub(super) struct Late {
    pub(super) job: JobId,
    pub(super) epoch: Epoch,
    pub(super) said: ErrorText,
}

struct Suspect {
    waiting: Waiting,
    retry_at: Instant,
    aside: Duration,
    refusals: u32,
    refused_at: u64,
}

/// The settlements of one call.
pub(super) struct Batch {
    pub(super) settlements: Vec<Settlement>,
    /// It is a suspect, to be sent without anything else.
    pub(super) alone: bool,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            suspects: VecDeque::new(),
            late: VecDeque::new(),
            batch_max: BATCH_MAX,
            answers: 0,
        }
    }

    /// How many are not written yet.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.suspects.len()
    }

    /// Takes in an attempt that ended.
    pub(super) fn push(&mut self, node: &Node, ended: Ended) {
        let Ended { job, running, end } = ended;
        match end {
            End::Settled { settlement, handed } => self.waiting.push_back(Waiting {
                job,
                running,
                settlement: *settlement,
                handed,
            }),
            End::Lost { said } => {
                if let Some(said) = said {
                    self.is_late(job.id, job.state.epoch, said);
                }
                forget(node, &running);
            }
        }
    }

    /// What holders said that had lost their leases, the oldest first; at most [`LATE_MAX`].
    pub(super) fn next_late(&self) -> Option<&Late> {
        self.late.front()
    }

    /// The oldest of them is kept, or cannot be.
    pub(super) fn late_kept(&mut self) {
        self.late.pop_front();
    }

    fn is_late(&mut self, job: JobId, epoch: Epoch, said: ErrorText) {
        if self.late.len() >= LATE_MAX {
            tracing::warn!(%job, %epoch, %said, "too many late reports, this one is not kept");
            return;
        }
        self.late.push_back(Late { job, epoch, said });
    }

    /// What to send next.
    pub(super) fn batch(&self, now: Instant) -> Batch {
        let due = |suspect: &&Suspect| suspect.retry_at <= now;
        match self.suspects.front().filter(due) {
            Some(suspect) => Batch {
                settlements: vec![suspect.waiting.settlement.clone()],
                alone: true,
            },
            None => Batch {
                settlements: self.next_waiting(),
                alone: false,
            },
        }
    }

    fn next_waiting(&self) -> Vec<Settlement> {
        let batch = self.waiting.iter().take(self.batch_max);
        batch.map(|waiting| waiting.settlement.clone()).collect()
    }

    /// The store answered a batch, which may have been empty.
    pub(super) fn answered(&mut self, node: &Node, batch: &Batch, answers: &[Settled]) {
        self.answers += 1;
        self.batch_max = (self.batch_max * 2).min(BATCH_MAX);
        for settled in answers {
            let waiting = if batch.alone {
                self.suspects.pop_front().map(|suspect| suspect.waiting)
            } else {
                self.waiting.pop_front()
            };
            let Some(mut waiting) = waiting else { return };
            if let (Settled::Stale, Some(handed)) = (settled, waiting.handed.take()) {
                // The handler's own transaction may have been committed, whatever it said afterwards.
                waiting.settlement = *handed;
                self.waiting.push_back(waiting);
                continue;
            }
            if let Settled::Stale = settled {
                let said = spoken(&waiting.settlement);
                self.is_late(waiting.job.id, waiting.settlement.fence.epoch, said);
            }
            tell_settled(&node.client, &waiting.job, &waiting.settlement, *settled);
            if let Next::Pending { .. } = waiting.settlement.next {
                node.client.announce(&waiting.job.queue);
            }
            forget(node, &waiting.running);
        }
    }

    /// The store refused a batch. Where it may be the fault of one of them, batches shrink until that one stands alone.
    /// Answers whether there is something else to send at once: the batch held settlements, so the next is smaller or
    /// holds others.
    pub(super) fn refused(&mut self, node: &Node, batch: &Batch, error: &StoreError) -> bool {
        let sent = batch.settlements.len();
        if sent == 0 {
            return false;
        }
        if batch.alone {
            self.suspect_refused(node, error);
        } else if sent == 1 {
            if let Some(waiting) = self.waiting.pop_front() {
                self.suspects.push_front(Suspect {
                    waiting,
                    retry_at: Instant::now(),
                    aside: ASIDE_FIRST,
                    refusals: 0,
                    refused_at: self.answers,
                });
            }
        } else {
            self.batch_max = (sent / 2).max(1);
        }
        true
    }

    /// Sets a suspect aside for a while, or gives it up when the store goes on to take others but not it.
    fn suspect_refused(&mut self, node: &Node, error: &StoreError) {
        let Some(mut suspect) = self.suspects.pop_front() else {
            return;
        };
        if self.answers > suspect.refused_at {
            suspect.refusals += 1;
            suspect.refused_at = self.answers;
        }
        if suspect.refusals < REFUSALS_MAX {
            suspect.retry_at = Instant::now() + suspect.aside;
            suspect.aside = (suspect.aside * 2).min(ASIDE_LONGEST);
            let place = self
                .suspects
                .partition_point(|other| other.retry_at <= suspect.retry_at);
            self.suspects.insert(place, suspect);
            return;
        }
        let (job, epoch) = (
            suspect.waiting.job.id,
            suspect.waiting.settlement.fence.epoch,
        );
        tracing::error!(%job, %epoch, %error, "a settlement is given up, its attempt will be found lost");
        node.client
            .observer()
            .on(&Event::SettlementDropped { job, epoch });
        forget(node, &suspect.waiting.running);
    }
}

fn forget(node: &Node, running: &Running) {
    node.client
        .local()
        .running
        .remove(running.job, running.epoch);
}
