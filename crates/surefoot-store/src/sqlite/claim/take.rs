//! Takes candidates one by one: asks of each whether it may run, leases it when it may, and sets it aside when it is in
//! the way of the next claim.

use std::collections::BTreeMap;

use surefoot_core::error::StoreError;
use surefoot_core::id::Epoch;
use surefoot_core::job::{Counts, LeasedJob, Run};
use surefoot_core::port::{BATCH_MAX, Claim, KindTerms};
use surefoot_core::time::Timestamp;

use super::super::ledger::Ledger;
use super::super::order_line;
use super::super::row::{self, intent_columns};
use super::crowd;
use super::lane::Candidate;
use super::line::Line;
use super::room::Room;

/// How many jobs one claim sets aside; it walks past the others, and the next claim sets those aside.
const ASIDE_MAX: usize = 4096;

statements! {
    INTENT = concat!("-- claim: what is asked for
        select ", intent_columns!(), " from surefoot_intent as i where i.seq = ?1");
    LEASE = "-- claim: the lease, under a new epoch
        update surefoot_job set state = 'running', readiness = null, epoch = epoch + 1, starts = starts + 1,
            worker = ?3, started_at = ?4, lease_until = ?5, recovery = ?6, error = null
        where seq = ?1 and epoch = ?2 and readiness is not null";
    OVERDUE = "-- claim: a job past its deadline steps aside until it is expired
        update surefoot_job set readiness = 'overdue' where seq = ?1 and readiness in ('ready', 'crowded')";
}

/// A claim under way.
pub(super) struct Taking<'a> {
    ledger: &'a Ledger<'a>,
    claim: &'a Claim,
    terms: BTreeMap<&'a str, &'a KindTerms>,
    now: Timestamp,
    room: Room,
    may_meet_crowds: bool,
    leased: Vec<LeasedJob>,
    aside: Vec<(Candidate, Aside, &'a KindTerms, String)>,
}

/// Where a job goes that is in the way.
#[derive(Clone, Copy)]
enum Aside {
    Overdue,
    Crowded,
}

/// Whether a candidate is taken, and if not, how its lane goes on.
enum Admission {
    Taken,
    PassedOver,
    SetAside(Aside),
    KindFull,
    QueueFull,
}

impl<'a> Taking<'a> {
    pub(super) fn new(
        ledger: &'a Ledger<'a>,
        claim: &'a Claim,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut terms = BTreeMap::new();
        for each in &claim.kinds {
            terms.entry(each.kind.as_str()).or_insert(each);
        }
        Ok(Self {
            ledger,
            claim,
            terms,
            now,
            room: Room::of(ledger, claim)?,
            may_meet_crowds: crowd::any(ledger)?,
            leased: Vec::new(),
            aside: Vec::new(),
        })
    }

    pub(super) const fn ledger(&self) -> &'a Ledger<'a> {
        self.ledger
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) const fn may_meet_crowds(&self) -> bool {
        self.may_meet_crowds
    }

    /// How many jobs it takes at most.
    pub(super) fn max(&self) -> usize {
        BATCH_MAX.min(self.claim.max as usize)
    }

    /// Whether it has taken as many.
    pub(super) fn is_full(&self) -> bool {
        self.leased.len() >= self.max()
    }

    /// How many jobs of a queue may run at once.
    pub(super) fn queue_max(&self, queue: &str) -> Option<u32> {
        let mut limits = self.claim.queue_limits.iter();
        limits
            .find(|(name, _)| name.as_str() == queue)
            .map(|(_, max)| *max)
    }

    /// The terms of a kind, when the claim asks for it.
    pub(super) fn terms(&self, kind: &str) -> Option<&'a KindTerms> {
        self.terms.get(kind).copied()
    }

    /// The terms of all kinds.
    pub(super) fn all_terms(&self) -> impl Iterator<Item = &'a KindTerms> {
        self.terms.values().copied()
    }

    /// Takes the first job of the line for which there is room; answers whether there was one.
    pub(super) fn take_from(&mut self, line: &mut Line) -> Result<bool, StoreError> {
        while let Some((candidate, lane)) = line.pop() {
            let Some(terms) = self.terms(line.kind(lane)) else {
                continue;
            };
            match self.admit(line, terms, &candidate)? {
                Admission::Taken => {
                    line.refill(self, lane)?;
                    return Ok(true);
                }
                Admission::PassedOver => line.refill(self, lane)?,
                // All of a crowd share its key, and there will be no more room under it.
                Admission::SetAside(Aside::Crowded) if line.is_crowd(lane) => {}
                Admission::SetAside(place) => {
                    if self.aside.len() < ASIDE_MAX {
                        self.aside
                            .push((candidate, place, terms, line.queue.clone()));
                    }
                    line.refill(self, lane)?;
                }
                // There will be no more room for this kind, so its lane is not looked at again.
                Admission::KindFull => {}
                Admission::QueueFull => return Ok(false),
            }
        }
        Ok(false)
    }

    /// What was taken, after the rest was set aside.
    pub(super) fn finish(self) -> Result<Vec<LeasedJob>, StoreError> {
        for (candidate, place, terms, queue) in &self.aside {
            match (place, &candidate.concurrency_key) {
                (Aside::Overdue, _) => {
                    self.ledger.execute(OVERDUE, [candidate.seq])?;
                }
                (Aside::Crowded, Some(key)) => {
                    let (seq, tenant) = (candidate.seq, &candidate.tenant);
                    crowd::join(self.ledger, seq, queue, &terms.kind, tenant, key)?;
                }
                (Aside::Crowded, None) => {}
            }
        }
        Ok(self.leased)
    }

    fn admit(
        &mut self,
        line: &Line,
        terms: &KindTerms,
        candidate: &Candidate,
    ) -> Result<Admission, StoreError> {
        if !self.room.in_queue(&line.queue, line.running_max) {
            return Ok(Admission::QueueFull);
        }
        if !self.room.in_kind(terms) {
            return Ok(Admission::KindFull);
        }
        if candidate.is_overdue(self.now) {
            return Ok(Admission::SetAside(Aside::Overdue));
        }
        if let Some(key) = &candidate.concurrency_key
            && !self
                .room
                .in_key(self.ledger, terms, &candidate.tenant, key)?
        {
            return Ok(Admission::SetAside(Aside::Crowded));
        }
        let order_key = candidate.order_key.as_ref();
        let (seq, state) = (candidate.seq, candidate.state);
        if !order_line::may_run(self.ledger, seq, state, &candidate.tenant, order_key)? {
            return Ok(Admission::PassedOver);
        }
        self.lease(&line.queue, terms, candidate)
    }

    fn lease(
        &mut self,
        queue: &str,
        terms: &KindTerms,
        candidate: &Candidate,
    ) -> Result<Admission, StoreError> {
        let intent = match self.ledger.first(INTENT, [candidate.seq], row::intent) {
            Ok(Some(intent)) => intent,
            Ok(None) => return Ok(passed_over("it has no intent")),
            Err(StoreError::Broken(what)) => return Ok(passed_over(&what)),
            Err(error) => return Err(error),
        };
        let run = Run {
            epoch: Epoch(candidate.epoch).next(),
            worker: self.claim.worker.clone(),
            started_at: self.now,
            lease_until: self.now.after(terms.lease),
            recovery: terms.recovery,
            cancel_requested: candidate.cancel_requested,
        };
        self.ledger.execute_one(
            LEASE,
            (
                candidate.seq,
                candidate.epoch,
                run.worker.as_str(),
                run.started_at.as_micros(),
                run.lease_until.as_micros(),
                run.recovery.map(|recovery| recovery.as_str()),
            ),
        )?;
        let counts = Counts {
            starts: candidate.counts.starts + 1,
            ..candidate.counts
        };
        let job = LeasedJob {
            counts,
            ..intent.map_state(|()| run)
        };
        self.taken_over(queue, terms, candidate, job)?;
        Ok(Admission::Taken)
    }

    fn taken_over(
        &mut self,
        queue: &str,
        terms: &KindTerms,
        candidate: &Candidate,
        job: LeasedJob,
    ) -> Result<(), StoreError> {
        let key = candidate.concurrency_key.as_ref();
        self.room.taken(queue, terms, &candidate.tenant, key);
        if let Some(key) = key {
            crowd::recount(self.ledger, &terms.kind, &candidate.tenant, key)?;
        }
        let running = Some(surefoot_core::job::StateName::Running);
        self.ledger
            .moved(&job.queue, &job.kind, Some(candidate.state), running);
        self.leased.push(job);
        Ok(())
    }
}

/// A job that does not read back stays where it is: the jobs behind it must not wait for it.
fn passed_over(what: &str) -> Admission {
    tracing::error!(what, "a job that does not read back is passed over");
    Admission::PassedOver
}
