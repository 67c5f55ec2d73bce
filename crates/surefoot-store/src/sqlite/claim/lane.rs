//! One lane of a claim: due jobs of one kind in one queue, in order, read a few at a time. Jobs whose time has not come
//! end a level of the lane; they are never walked through.

use std::collections::VecDeque;

use rusqlite::Row;
use surefoot_core::error::StoreError;
use surefoot_core::id::{ConcurrencyKey, OrderKey, Tenant};
use surefoot_core::job::{Counts, StateName};
use surefoot_core::time::Timestamp;

use super::super::ledger::Ledger;
use super::super::row::{column, count, name, name_if_any, word};
use super::{crowd, levels};

/// The columns of a candidate, in the order in which `candidate` reads them.
macro_rules! candidate_columns {
    () => {
        "seq, priority, due_at, epoch, state, tenant, order_key, concurrency_key, deadline_at,
         starts, failed, crashed, deferred, unknown, cancel_requested"
    };
}

/// How many jobs are read at a time, at least and at most: about as many as the claim may take.
const CHUNK: std::ops::RangeInclusive<usize> = 8..=128;

statements! {
    LATER = concat!("-- claim: the next ready jobs on a level of a lane, by due time
        select ", candidate_columns!(), " from surefoot_job indexed by surefoot_job_lane
        where readiness = 'ready' and queue = ?1 and kind = ?2 and priority = ?3 and due_at > ?4
        order by due_at, seq limit ?5");
    SAME_TIME = concat!("-- claim: the next ready jobs of the same due time
        select ", candidate_columns!(), " from surefoot_job indexed by surefoot_job_lane
        where readiness = 'ready' and queue = ?1 and kind = ?2 and priority = ?3 and due_at = ?4 and seq > ?5
        order by seq limit ?6");
    CROWDED = concat!("-- claim: the next jobs of a crowd
        select ", candidate_columns!(), " from surefoot_job indexed by surefoot_job_crowded
        where readiness = 'crowded' and queue = ?1 and kind = ?2 and tenant = ?3 and concurrency_key = ?4
            and (priority < ?5 or (priority = ?5 and (due_at, seq) > (?6, ?7)))
        order by priority desc, due_at, seq limit ?8");
}

/// A due job that might be taken.
pub(super) struct Candidate {
    pub(super) seq: i64,
    pub(super) priority: i32,
    pub(super) due_at: i64,
    pub(super) epoch: i64,
    pub(super) state: StateName,
    pub(super) tenant: Tenant,
    pub(super) order_key: Option<OrderKey>,
    pub(super) concurrency_key: Option<ConcurrencyKey>,
    pub(super) deadline_at: Option<i64>,
    pub(super) counts: Counts,
    pub(super) cancel_requested: bool,
}

impl Candidate {
    /// Whether its deadline passed. What may have happened is asked about whatever the deadline.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.state != StateName::Verifying
            && self
                .deadline_at
                .is_some_and(|deadline| deadline <= now.as_micros())
    }
}

/// What stands in a lane and has not been looked at.
pub(super) struct Lane {
    pub(super) kind: String,
    source: Source,
    chunk: usize,
    buffer: VecDeque<Candidate>,
    /// What was read last; `None` when all is read.
    position: Option<Position>,
}

enum Source {
    Ready,
    Crowd { tenant: String, key: String },
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Position {
    priority: i32,
    due_at: i64,
    seq: i64,
}

impl Position {
    /// Before the first job of all.
    const START: Self = Self::end_of(levels::ABOVE_ALL);

    const fn start_of(priority: i32) -> Self {
        Self {
            priority,
            due_at: i64::MIN,
            seq: i64::MIN,
        }
    }

    const fn end_of(priority: i32) -> Self {
        Self {
            priority,
            due_at: i64::MAX,
            seq: i64::MAX,
        }
    }
}

impl Lane {
    /// The ready jobs of a kind in a queue, for a claim of so many.
    pub(super) fn ready(kind: String, wanted: usize) -> Self {
        Self::from(kind, wanted, Source::Ready)
    }

    /// The jobs of a kind in a queue that stand crowded behind a concurrency key.
    pub(super) fn crowd(kind: String, wanted: usize, tenant: String, key: String) -> Self {
        Self::from(kind, wanted, Source::Crowd { tenant, key })
    }

    fn from(kind: String, wanted: usize, source: Source) -> Self {
        Self {
            kind,
            source,
            chunk: wanted.clamp(*CHUNK.start(), *CHUNK.end()),
            buffer: VecDeque::new(),
            position: Some(Position::START),
        }
    }

    /// Whether its jobs share a concurrency key.
    pub(super) const fn is_crowd(&self) -> bool {
        matches!(self.source, Source::Crowd { .. })
    }

    /// The next job.
    pub(super) fn next(
        &mut self,
        ledger: &Ledger<'_>,
        queue: &str,
        now: Timestamp,
    ) -> Result<Option<Candidate>, StoreError> {
        while self.buffer.is_empty()
            && let Some(position) = self.position
        {
            let now = now.as_micros();
            self.position = match &self.source {
                Source::Ready => self.read_ready(ledger, queue, now, position)?,
                Source::Crowd { .. } => self.read_crowd(ledger, queue, now, position)?,
            };
        }
        Ok(self.buffer.pop_front())
    }

    /// Reads on: the rest of a level, or else which level comes next.
    fn read_ready(
        &mut self,
        ledger: &Ledger<'_>,
        queue: &str,
        now: i64,
        from: Position,
    ) -> Result<Option<Position>, StoreError> {
        let Position {
            priority,
            due_at,
            seq,
        } = from;
        if from == Position::end_of(priority) {
            let next = levels::next_priority(
                ledger.connection(),
                levels::READY,
                queue,
                &self.kind,
                priority,
            )?;
            return Ok(next.map(Position::start_of));
        }
        let lane = (queue, self.kind.as_str(), priority);
        let mut found = Vec::new();
        if due_at > i64::MIN {
            let place = (lane.0, lane.1, lane.2, due_at, seq, self.chunk as i64);
            found = ledger.rows(SAME_TIME, place, read)?;
        }
        if found.len() < self.chunk {
            let rest = self.chunk - found.len();
            let place = (lane.0, lane.1, lane.2, due_at, rest as i64);
            found.extend(ledger.rows(LATER, place, read)?);
        }
        let on = after(&found, self.chunk).filter(|last| last.due_at <= now);
        self.take_in(found, now);
        Ok(Some(on.unwrap_or(Position::end_of(priority))))
    }

    fn read_crowd(
        &mut self,
        ledger: &Ledger<'_>,
        queue: &str,
        now: i64,
        from: Position,
    ) -> Result<Option<Position>, StoreError> {
        let Source::Crowd { tenant, key } = &self.source else {
            return Ok(None);
        };
        let place = (
            queue,
            self.kind.as_str(),
            tenant.as_str(),
            key.as_str(),
            from.priority,
            from.due_at,
            from.seq,
            self.chunk as i64,
        );
        let found = ledger.rows(CROWDED, place, read)?;
        if found.is_empty() {
            crowd::close_if_empty(ledger, queue, &self.kind, tenant, key)?;
        }
        let on = after(&found, self.chunk);
        self.take_in(found, now);
        Ok(on)
    }

    /// Keeps the jobs that are due. A row that does not read back must not stop the jobs behind it: it stays where it
    /// is, and is reported.
    fn take_in(&mut self, found: Vec<(Position, Result<Candidate, StoreError>)>, now: i64) {
        let due = found
            .into_iter()
            .filter(|(position, _)| position.due_at <= now);
        self.buffer.extend(due.filter_map(|(_, candidate)| {
            candidate
                .inspect_err(
                    |error| tracing::error!(%error, "a job that does not read back is passed over"),
                )
                .ok()
        }));
    }
}

/// Where to read on, when the chunk was full.
fn after<T>(found: &[(Position, T)], chunk: usize) -> Option<Position> {
    found
        .last()
        .filter(|_| found.len() == chunk)
        .map(|(position, _)| *position)
}

fn read(found: &Row<'_>) -> Result<(Position, Result<Candidate, StoreError>), StoreError> {
    let position = Position {
        seq: column(found, 0)?,
        priority: column(found, 1)?,
        due_at: column(found, 2)?,
    };
    Ok((position, candidate(found)))
}

/// What `candidate_columns` holds.
fn candidate(found: &Row<'_>) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        seq: column(found, 0)?,
        priority: column(found, 1)?,
        due_at: column(found, 2)?,
        epoch: column(found, 3)?,
        state: word(found, 4, StateName::parse)?,
        tenant: name(found, 5)?,
        order_key: name_if_any(found, 6)?,
        concurrency_key: name_if_any(found, 7)?,
        deadline_at: column(found, 8)?,
        counts: Counts {
            starts: count(found, 9)?,
            failed: count(found, 10)?,
            crashed: count(found, 11)?,
            deferred: count(found, 12)?,
            unknown: count(found, 13)?,
        },
        cancel_requested: column(found, 14)?,
    })
}
