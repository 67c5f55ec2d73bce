//! Settle and claim in one round trip.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Instant;

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{Advanced, BATCH_MAX, Claim, KindTerms, Queues, Settled};
use surefoot_core::settle::Settlement;
use surefoot_core::time::Timestamp;

use super::call::{Caller, Statement};
use super::fault::{Fault, broken};
use super::front::{Place, Places};
use super::row::{JobRow, column};
use super::settle::rounds;

statements! {
    ADVANCE = "-- advance
        select answers, next_due, entries_read, id, seq, tenant, kind, key, queue, priority, order_key,
            concurrency_key, payload, revision, generation, trace, enqueued_at, deadline_at, starts, failed, crashed,
            deferred, unknown, due_at, epoch, worker, started_at, lease_until, recovery, cancel_requested
        from surefoot.advance(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
            $24, $25, $26, $27, $28, $29, $30, $31, $32)";
}

/// Where the columns of a job begin.
const JOB_COLUMNS: usize = 3;

/// Settles a batch, then claims. What does not fit into one statement is settled in several, the claim goes with the
/// last; a repetition after a fault in between answers `Already` for what was settled.
pub(super) async fn advance(
    caller: &Caller,
    settlements: &[Settlement],
    claim: Option<&Claim>,
    now: Timestamp,
) -> Result<Advanced, StoreError> {
    let mut advanced = Advanced {
        settled: vec![Settled::Stale; settlements.len()],
        ..Advanced::default()
    };
    let rounds = rounds(settlements);
    for (number, round) in rounds.iter().enumerate() {
        let claim = claim.filter(|_| number + 1 == rounds.len());
        let places = claim.and_then(|_| caller.front.places(Instant::now()));
        let from_front = places.is_some();
        let statement = bind_claim(round.bind(caller.statement(ADVANCE)), claim);
        let statement = bind_places(statement, places).bind(now.as_micros());
        let rows = caller.rows(statement).await?;
        let answer = Answer::read(&rows)?;
        round.told(answer.settled, &mut advanced.settled)?;
        if claim.is_some() {
            caller.front.learn(
                from_front,
                answer.entries_read,
                &answer.jobs,
                Instant::now(),
            );
            advanced.next_due = answer.next_due;
            advanced.leased = in_order(answer.jobs);
        }
    }
    Ok(advanced)
}

fn bind_claim<'q>(statement: Statement<'q>, claim: Option<&Claim>) -> Statement<'q> {
    let kinds = claim.map(distinct).unwrap_or_default();
    let each = |max: Option<u32>| max.map(|max| i32::try_from(max).unwrap_or(i32::MAX));
    let limits = claim.into_iter().flat_map(|claim| &claim.queue_limits);
    let (limit_queues, limit_maxes): (Vec<_>, Vec<_>) = limits
        .map(|(queue, max)| (queue.as_str(), i32::try_from(*max).unwrap_or(i32::MAX)))
        .unzip();
    let max = claim.map_or(0, |claim| BATCH_MAX.min(claim.max as usize));
    statement
        .bind(claim.map(|claim| claim.worker.as_str()))
        .bind(
            kinds
                .iter()
                .map(|terms| terms.kind.as_str())
                .collect::<Vec<_>>(),
        )
        .bind(kinds.iter().map(|terms| micros(terms)).collect::<Vec<_>>())
        .bind(
            kinds
                .iter()
                .map(|terms| terms.recovery.map(|recovery| recovery.as_str()))
                .collect::<Vec<_>>(),
        )
        .bind(
            kinds
                .iter()
                .map(|terms| each(terms.concurrency_max))
                .collect::<Vec<_>>(),
        )
        .bind(
            kinds
                .iter()
                .map(|terms| each(terms.concurrency_per_key_max))
                .collect::<Vec<_>>(),
        )
        .bind(claim.and_then(|claim| match &claim.queues {
            Queues::All => None,
            Queues::Only(queues) => Some(queues.iter().map(Queue::as_str).collect::<Vec<_>>()),
        }))
        .bind(limit_queues)
        .bind(limit_maxes)
        .bind(i32::try_from(max).unwrap_or(0))
}

/// Each kind once, by its first terms.
fn distinct(claim: &Claim) -> Vec<&KindTerms> {
    let mut kinds: Vec<&KindTerms> = Vec::new();
    for terms in &claim.kinds {
        if kinds.iter().all(|known| known.kind != terms.kind) {
            kinds.push(terms);
        }
    }
    kinds
}

/// A lease in microseconds, so short that the database can add it to any time.
fn micros(terms: &KindTerms) -> i64 {
    i64::try_from(terms.lease.as_micros())
        .unwrap_or(i64::MAX)
        .min(Timestamp::MAX.as_micros())
}

fn bind_places<'q>(statement: Statement<'q>, places: Option<Places>) -> Statement<'q> {
    let (begins, places) = (places.is_some(), places.unwrap_or_default());
    fn given<T>(begins: bool, values: Vec<T>) -> Option<Vec<T>> {
        begins.then_some(values)
    }
    statement
        .bind(given(begins, places.queues))
        .bind(given(begins, places.kinds))
        .bind(given(begins, places.urgencies))
        .bind(given(begins, places.due))
        .bind(given(begins, places.seq))
}

/// Settles one attempt on the caller's connection and claims nothing.
pub(super) async fn settle_in(
    caller: &Caller,
    connection: &mut PgConnection,
    settlement: &Settlement,
) -> Result<Settled, StoreError> {
    let mut settled = [Settled::Stale];
    for round in rounds(std::slice::from_ref(settlement)) {
        let statement = bind_claim(round.bind(caller.statement(ADVANCE)), None);
        let rows = bind_places(statement, None)
            .bind(settlement.ended_at.as_micros())
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| Fault::of(error).error)?;
        round.told(Answer::read(&rows)?.settled, &mut settled)?;
    }
    let [settled] = settled;
    Ok(settled)
}

/// What one statement answered.
struct Answer {
    settled: Option<Vec<i16>>,
    next_due: Option<Timestamp>,
    entries_read: i64,
    jobs: Vec<(Place, LeasedJob)>,
}

impl Answer {
    fn read(rows: &[PgRow]) -> Result<Self, StoreError> {
        let (last, claimed) = rows
            .split_last()
            .ok_or_else(|| broken("advance answered no row"))?;
        let next_due: Option<i64> = column(last, "next_due")?;
        let mut jobs = Vec::with_capacity(claimed.len());
        for row in claimed {
            let row = JobRow::at(row, JOB_COLUMNS);
            jobs.push((row.place()?, row.leased()?));
        }
        Ok(Self {
            settled: column(last, "answers")?,
            next_due: next_due.map(Timestamp::from_micros),
            entries_read: column(last, "entries_read")?,
            jobs,
        })
    }
}

/// The claimed jobs in the order in which they were taken: rank by rank over the queues by name; within a queue by
/// priority, due time and age.
fn in_order(jobs: Vec<(Place, LeasedJob)>) -> Vec<LeasedJob> {
    let mut queues: BTreeMap<Queue, Vec<(Place, LeasedJob)>> = BTreeMap::new();
    for (place, job) in jobs {
        queues
            .entry(job.queue.clone())
            .or_default()
            .push((place, job));
    }
    let mut ranked = Vec::new();
    for (number, mut jobs) in queues.into_values().enumerate() {
        jobs.sort_by_key(|(place, job)| (Reverse(job.priority), *place));
        ranked.extend(
            jobs.into_iter()
                .enumerate()
                .map(|(rank, (_, job))| ((rank, number), job)),
        );
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, job)| job).collect()
}
