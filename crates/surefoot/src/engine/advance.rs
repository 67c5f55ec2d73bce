//! The loop that settles what ended and claims what runs next, both in one call of the store. One call is under way at
//! a time: what ends meanwhile goes along with the next one, and an idle node settles at once. It never ends by an
//! error, never spins, and claims only for free slots.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{Advanced, BATCH_MAX, Claim, KindTerms};
use surefoot_core::time::Timestamp;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;

use super::adopt;
use super::attempt::{Attempt, Ended};
use super::backlog::{Backlog, Batch};
use super::drain::{DrainClock, Drained, Phase};
use super::node::Node;
use crate::dice::Rest;
use crate::observe::Event;

/// The most turns of the runtime that settlements are gathered for one call.
const TURNS_MAX: usize = 16;
/// The shortest wait for a job that becomes due.
const DUE_WAIT_MIN: Duration = Duration::from_millis(1);

/// See the module.
pub(super) struct AdvanceLoop {
    node: Arc<Node>,
    terms: Vec<KindTerms>,
    attempts: JoinSet<Ended>,
    backlog: Backlog,
    backing_off: Rest,
    /// There may be something to claim.
    hungry: bool,
    /// Claims were sent whose answer was lost.
    claims_lost: bool,
    /// The last call was answered.
    reachable: bool,
    /// An attempt ended while nothing else was to do.
    woken_by_end: bool,
    /// When to look for work that nobody announced, or that becomes due.
    look_at: Instant,
}

impl AdvanceLoop {
    pub(super) fn new(node: Arc<Node>) -> Self {
        Self {
            terms: node.terms(),
            node,
            attempts: JoinSet::new(),
            backlog: Backlog::new(),
            backing_off: Rest::new(),
            hungry: true,
            claims_lost: false,
            reachable: true,
            woken_by_end: false,
            look_at: Instant::now(),
        }
    }

    /// Runs until a drain ended.
    pub(super) async fn run(mut self, phase: watch::Receiver<Phase>) -> Drained {
        let mut drain = DrainClock::new(phase, &self.node.options);
        loop {
            self.collect().await;
            drain.tick(&self.node);
            let done = self.attempts.is_empty() && self.backlog.len() == 0;
            if drain.is_draining() && (done || drain.is_over()) {
                return Drained {
                    abandoned: self.attempts.len(),
                    unsettled: self.backlog.len(),
                };
            }
            match self.step(&mut drain).await {
                Ok(()) => self.keep_late().await,
                Err(error) => self.rest(&error, &mut drain).await,
            }
        }
    }

    /// One call of the store, or a wait when there is no reason for one. After claims whose answers were lost, the first
    /// call only settles: what they took comes before what the next claim would take.
    async fn step(&mut self, drain: &mut DrainClock) -> Result<(), StoreError> {
        if self.claims_lost && self.reachable && self.free() > 0 && !drain.is_draining() {
            self.adopt().await;
        }
        let probing = self.claims_lost && !self.reachable && !drain.is_draining();
        let batch = self.backlog.batch(Instant::now());
        let claim = if probing {
            None
        } else {
            self.claim(&batch, drain)
        };
        if claim.is_none() && batch.settlements.is_empty() && !probing {
            self.wait(drain).await;
            return Ok(());
        }
        self.advance(batch, claim).await
    }

    /// Takes in what ended. As long as more ends at each turn of the runtime it waits for the next one: what was claimed
    /// together and is short is settled together, and nothing waits for a timer.
    async fn collect(&mut self) {
        for _ in 0..TURNS_MAX {
            let before = self.backlog.len();
            while let Some(ended) = self.attempts.try_join_next() {
                self.take_in(ended);
            }
            let news = self.backlog.len() > before || std::mem::take(&mut self.woken_by_end);
            if !news || self.attempts.is_empty() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    fn take_in(&mut self, ended: Result<Ended, JoinError>) {
        match ended {
            Ok(ended) => self.backlog.push(&self.node, ended),
            // Attempts catch the panics of handlers; this one is ours. Its job lapses.
            Err(error) => tracing::error!(%error, "an attempt broke off"),
        }
    }

    fn free(&self) -> u32 {
        let running = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        self.node.options.concurrency.saturating_sub(running)
    }

    /// The claim to send, if there is reason for one: something may wait, or a settlement may let another job go on.
    fn claim(&self, batch: &Batch, drain: &DrainClock) -> Option<Claim> {
        let reason = self.hungry || !batch.settlements.is_empty();
        let barred = drain.is_draining() || batch.alone || self.terms.is_empty();
        let max = self
            .free()
            .min(u32::try_from(BATCH_MAX).unwrap_or(u32::MAX));
        (reason && !barred && max > 0).then(|| Claim {
            worker: self.node.worker.clone(),
            kinds: self.terms.clone(),
            queues: self.node.options.queues.clone(),
            queue_limits: self.node.options.queue_limits.clone(),
            max,
        })
    }

    /// Keeps what holders said after they had lost their leases. An unavailable store is asked again later.
    async fn keep_late(&mut self) {
        while let Some(late) = self.backlog.next_late() {
            let kept = self
                .node
                .client
                .store()
                .late(late.job, late.epoch, &late.said)
                .await;
            match kept {
                Err(error) if error.is_transient() => return,
                Ok(_) | Err(_) => self.backlog.late_kept(),
            }
        }
    }

    async fn advance(&mut self, batch: Batch, claim: Option<Claim>) -> Result<(), StoreError> {
        let now = self.node.client.now();
        let sent = &batch.settlements;
        let store = self.node.client.store();
        let answer = store.advance(sent, claim.as_ref(), now).await;
        let answer = answer.and_then(|advanced| complete(advanced, sent.len()));
        self.reachable = answer.is_ok();
        self.hungry |= claim.is_some();
        match answer {
            Ok(advanced) => {
                self.backing_off.reset();
                self.node.claimed.is_now();
                self.backlog.answered(&self.node, &batch, &advanced.settled);
                if let Some(claim) = claim {
                    self.claimed(&claim, now, advanced);
                }
                Ok(())
            }
            Err(error) if error.is_transient() => {
                if claim.is_some() {
                    self.node.lost_claims.insert(now);
                    self.claims_lost = true;
                }
                Err(error)
            }
            Err(error) if self.backlog.refused(&self.node, &batch, &error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn claimed(&mut self, claim: &Claim, claimed_at: Timestamp, advanced: Advanced) {
        self.hungry = advanced.leased.len() >= claim.max as usize;
        // What was due at the claim and stayed behind is barred by something; a due time says nothing about when.
        let next_due = advanced.next_due.filter(|due_at| *due_at > claimed_at);
        self.look_at = Instant::now() + self.until_next_look(next_due);
        for job in advanced.leased {
            self.start(job);
        }
    }

    fn until_next_look(&self, next_due: Option<Timestamp>) -> Duration {
        let poll = self.node.client.dice().around(self.node.options.poll);
        match next_due {
            // It may have become due while the store answered.
            Some(due_at) => due_at
                .since(self.node.client.now())
                .max(DUE_WAIT_MIN)
                .min(poll),
            None => poll,
        }
    }

    fn start(&mut self, job: LeasedJob) {
        let Some(handler) = self.node.handlers.get(&job.kind).cloned() else {
            tracing::error!(job = %job.id, kind = %job.kind, "the store leased a kind that was not claimed");
            return;
        };
        let observer = self.node.client.observer();
        observer.on(&Event::claimed(&job));
        self.node.client.local().changed(job.id);
        let span = observer.attempt_span(&job);
        let attempt = Attempt::new(&self.node, job, handler);
        self.node
            .client
            .local()
            .running
            .insert(Arc::clone(attempt.running()));
        self.attempts
            .spawn(attempt.run(Arc::clone(&self.node)).instrument(span));
    }

    /// Starts what was claimed under a lost answer. What cannot be found now is left to the sweep.
    async fn adopt(&mut self) {
        match adopt::lost(&self.node, self.free()).await {
            Ok(found) => {
                self.claims_lost = found.more;
                found.jobs.into_iter().for_each(|job| self.start(job));
            }
            Err(error) => {
                tracing::warn!(%error, "could not look for claims whose answers were lost");
                self.claims_lost = false;
            }
        }
    }

    /// Waits for a reason to go on.
    async fn wait(&mut self, drain: &mut DrainClock) {
        if self.free() == 0 || self.terms.is_empty() {
            self.node.claimed.is_now();
        }
        tokio::select! {
            Some(ended) = self.attempts.join_next() => {
                self.woken_by_end = true;
                self.take_in(ended);
            }
            () = self.node.client.local().work.notified() => self.hungry = true,
            () = sleep_until(self.look_at) => {
                self.hungry = true;
                self.look_at = Instant::now() + self.until_next_look(None);
            }
            () = drain.next() => {}
        }
    }

    /// Waits after a failure, a little longer each time; a drain cuts it short.
    async fn rest(&mut self, error: &StoreError, drain: &mut DrainClock) {
        let pause = self.backing_off.after_failure(self.node.client.dice());
        tracing::warn!(%error, ?pause, "could not settle and claim, trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = drain.next() => {}
        }
    }
}

/// The answer, if it answers every settlement.
fn complete(advanced: Advanced, sent: usize) -> Result<Advanced, StoreError> {
    if advanced.settled.len() == sent {
        return Ok(advanced);
    }
    let answers = advanced.settled.len();
    Err(StoreError::Broken(format!(
        "{sent} settlements were sent and {answers} answers came back"
    )))
}
