//! The lanes of one queue as one line: the next job is the first of all of them by priority, due time and age.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use surefoot_core::error::StoreError;

use super::lane::{Candidate, Lane};
use super::take::Taking;
use super::{crowd, levels};

/// What stands in a queue for this claim.
pub(super) struct Line {
    pub(super) queue: String,
    /// How many of its jobs may run at once.
    pub(super) running_max: Option<u32>,
    lanes: Vec<Lane>,
    heads: BinaryHeap<Reverse<Head>>,
}

/// The first job of a lane, ordered as jobs are claimed.
struct Head {
    order: (Reverse<i32>, i64, i64),
    lane: usize,
    candidate: Candidate,
}

impl Line {
    /// The lanes of the claim's kinds in this queue.
    pub(super) fn open(taking: &Taking<'_>, queue: &str) -> Result<Self, StoreError> {
        let ledger = taking.ledger();
        let mut line = Self {
            queue: queue.to_owned(),
            running_max: taking.queue_max(queue),
            lanes: Vec::new(),
            heads: BinaryHeap::new(),
        };
        let mut after = String::new();
        while let Some(kind) = levels::next_kind(ledger.connection(), levels::READY, queue, &after)?
        {
            if taking.terms(&kind).is_some() {
                line.lanes.push(Lane::ready(kind.clone(), taking.max()));
            }
            after = kind;
        }
        line.lanes.extend(crowd::lanes(taking, queue)?);
        for lane in 0..line.lanes.len() {
            line.refill(taking, lane)?;
        }
        Ok(line)
    }

    /// The next job, and the lane that it came from, which goes on only when it is refilled.
    pub(super) fn pop(&mut self) -> Option<(Candidate, usize)> {
        self.heads
            .pop()
            .map(|Reverse(head)| (head.candidate, head.lane))
    }

    /// The kind of a lane.
    pub(super) fn kind(&self, lane: usize) -> &str {
        self.lanes.get(lane).map_or("", |lane| lane.kind.as_str())
    }

    /// Whether a lane is a crowd.
    pub(super) fn is_crowd(&self, lane: usize) -> bool {
        self.lanes.get(lane).is_some_and(Lane::is_crowd)
    }

    /// Brings the next job of a lane to the head.
    pub(super) fn refill(&mut self, taking: &Taking<'_>, lane: usize) -> Result<(), StoreError> {
        let Some(from) = self.lanes.get_mut(lane) else {
            return Ok(());
        };
        if let Some(candidate) = from.next(taking.ledger(), &self.queue, taking.now())? {
            let order = (Reverse(candidate.priority), candidate.due_at, candidate.seq);
            self.heads.push(Reverse(Head {
                order,
                lane,
                candidate,
            }));
        }
        Ok(())
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Head {}
