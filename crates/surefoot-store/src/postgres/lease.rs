//! Leases between claim and settlement: extend, the heartbeat, what lapsed, what expired.

use async_trait::async_trait;
use sqlx::postgres::{PgConnectOptions, PgRow};
use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Kind};
use surefoot_core::job::{LeasedJob, StateName};
use surefoot_core::port::{BATCH_MAX, Beat, Extended, Extension, Heart};
use surefoot_core::settle::expired;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::{Caller, Statement};
use super::connections::Connections;
use super::fault::broken;
use super::front::Front;
use super::row::{JobRow, column, parsed};

statements! {
    EXTEND = "-- extend
        select n.micros as database_now, e.place, e.lease_until, e.cancel_requested
        from (select surefoot.now_micros() as micros) n left join surefoot.extend($1, $2, $3) e on true";
    LAPSED = "-- lapsed
        select c.* from (
            select k.id, k.seq, k.tenant, k.kind, k.key, k.queue, k.priority, k.order_key, k.concurrency_key, k.payload,
                k.revision, k.generation, k.trace, k.enqueued_at, k.deadline_at, k.starts, k.failed, k.crashed,
                k.deferred, k.unknown, k.due_at, k.epoch, k.worker, k.started_at, k.lease_until, k.recovery,
                k.cancel_requested,
                sum(octet_length(k.payload)) over (order by k.lease_until, k.id) - octet_length(k.payload) as before
            from surefoot.lapsed($1, $2) l join surefoot.live_job k on k.id = l.id
            where k.state = 'running' and k.lease_until < $1) c
        where c.before < 33554432
        order by c.lease_until, c.id";
    OVERDUE = "-- expire: what is past its deadline
        select o.id, o.kind, o.starts, o.state, o.error, o.unknown
        from unnest(array['overdue', 'ready', 'gated', 'scheduled', 'parked', 'crowded']) r (readiness)
        cross join lateral (
            select j.id, j.kind, j.starts, j.state, j.error, j.unknown, j.deadline_at from surefoot.job j
            where j.readiness = r.readiness and j.deadline_at is not null and j.state <> 'verifying'
                and j.deadline_at <= $1
            order by j.deadline_at limit $2) o
        order by o.deadline_at limit $2";
    EXPIRE = "-- expire
        select surefoot.expire($1, $2, $3, $4, $5, $6, $7) as ids";
}

/// Extends leases. Answers stand in the order of the batch.
pub(super) async fn extend(
    caller: &Caller,
    leases: &[Extension],
) -> Result<Vec<Extended>, StoreError> {
    if leases.is_empty() {
        return Ok(Vec::new());
    }
    Ok(beat(caller, leases).await?.extended)
}

async fn beat(caller: &Caller, leases: &[Extension]) -> Result<Beat, StoreError> {
    let mut beat = Beat {
        extended: vec![Extended::Lost; leases.len()],
        database_now: Timestamp::MIN,
    };
    for round in rounds(leases) {
        let statement = caller
            .statement(EXTEND)
            .bind(
                round
                    .iter()
                    .map(|(_, lease)| lease.job.as_uuid())
                    .collect::<Vec<Uuid>>(),
            )
            .bind(
                round
                    .iter()
                    .map(|(_, lease)| lease.epoch.0)
                    .collect::<Vec<i64>>(),
            )
            .bind(
                round
                    .iter()
                    .map(|(_, lease)| lease.until.as_micros())
                    .collect::<Vec<i64>>(),
            );
        for row in caller.rows(statement).await? {
            beat.database_now = Timestamp::from_micros(column(&row, "database_now")?);
            told(&row, &round, &mut beat.extended)?;
        }
    }
    Ok(beat)
}

/// The batch in rounds in which a job stands once, in the order of ids; at least one round.
fn rounds(leases: &[Extension]) -> Vec<Vec<(usize, &Extension)>> {
    let mut rounds: Vec<Vec<(usize, &Extension)>> = Vec::new();
    let mut left: Vec<_> = leases.iter().enumerate().collect();
    left.sort_by_key(|(place, lease)| (lease.job, *place));
    loop {
        let mut again = Vec::new();
        let mut round: Vec<(usize, &Extension)> = Vec::new();
        for item in left {
            let seen = round.last().is_some_and(|(_, last)| last.job == item.1.job);
            if seen || round.len() == BATCH_MAX {
                again.push(item)
            } else {
                round.push(item)
            }
        }
        rounds.push(round);
        if again.is_empty() {
            return rounds;
        }
        left = again;
    }
}

fn told(
    row: &PgRow,
    round: &[(usize, &Extension)],
    extended: &mut [Extended],
) -> Result<(), StoreError> {
    let Some(number) = column::<Option<i32>>(row, "place")? else {
        return Ok(());
    };
    let item = usize::try_from(number - 1)
        .ok()
        .and_then(|at| round.get(at));
    let (place, _) =
        item.ok_or_else(|| broken(format_args!("extend answers for item {number}")))?;
    extended[*place] = Extended::Held {
        until: Timestamp::from_micros(column(row, "lease_until")?),
        cancel_requested: column(row, "cancel_requested")?,
    };
    Ok(())
}

/// Running jobs whose lease ended before `now`, the longest ended first; at most what one answer carries.
pub(super) async fn lapsed(
    caller: &Caller,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<LeasedJob>, StoreError> {
    let limit = i32::try_from(limit.min(BATCH_MAX as u32)).unwrap_or(0);
    let rows = caller
        .rows(caller.statement(LAPSED).bind(now.as_micros()).bind(limit))
        .await?;
    rows.iter().map(|row| JobRow::at(row, 0).leased()).collect()
}

/// Makes dead letters of waiting jobs past their deadline, those apart that were claimed or changed meanwhile.
pub(super) async fn expire(
    caller: &Caller,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<JobId>, StoreError> {
    let limit = i64::from(limit.min(BATCH_MAX as u32));
    let rows = caller
        .rows(caller.statement(OVERDUE).bind(now.as_micros()).bind(limit))
        .await?;
    let mut overdue = rows
        .iter()
        .map(|row| Overdue::read(row, now))
        .collect::<Result<Vec<_>, _>>()?;
    if overdue.is_empty() {
        return Ok(Vec::new());
    }
    overdue.sort_by_key(|job| job.id);
    let row = caller
        .row(bind(caller.statement(EXPIRE), &overdue).bind(now.as_micros()))
        .await?;
    let ids: Option<Vec<Uuid>> = column(&row, "ids")?;
    Ok(ids
        .unwrap_or_default()
        .into_iter()
        .map(JobId::from_uuid)
        .collect())
}

/// A job past its deadline, as it was seen, and what is to be said of it.
struct Overdue {
    id: Uuid,
    starts: i32,
    state: String,
    reason: &'static str,
    error: String,
    fingerprint: i64,
}

impl Overdue {
    fn read(row: &PgRow, now: Timestamp) -> Result<Self, StoreError> {
        let kind: Kind = parsed(row, "kind", str::parse)?;
        let state: String = column(row, "state")?;
        let said: Option<&str> = column(row, "error")?;
        let last_error = said
            .filter(|_| state == StateName::Retrying.as_str())
            .map(ErrorText::from);
        let unknown: i32 = column(row, "unknown")?;
        let death = expired(
            &kind,
            u32::try_from(unknown).unwrap_or(0),
            last_error.as_ref(),
            now,
        );
        Ok(Self {
            id: column(row, "id")?,
            starts: column(row, "starts")?,
            state,
            reason: death.reason.as_str(),
            error: death.error.as_str().to_owned(),
            fingerprint: death.fingerprint.to_bits().cast_signed(),
        })
    }
}

fn bind<'q>(statement: Statement<'q>, overdue: &[Overdue]) -> Statement<'q> {
    statement
        .bind(overdue.iter().map(|job| job.id).collect::<Vec<_>>())
        .bind(overdue.iter().map(|job| job.starts).collect::<Vec<_>>())
        .bind(
            overdue
                .iter()
                .map(|job| job.state.as_str())
                .collect::<Vec<_>>(),
        )
        .bind(overdue.iter().map(|job| job.reason).collect::<Vec<_>>())
        .bind(
            overdue
                .iter()
                .map(|job| job.error.as_str())
                .collect::<Vec<_>>(),
        )
        .bind(
            overdue
                .iter()
                .map(|job| job.fingerprint)
                .collect::<Vec<_>>(),
        )
}

/// The heartbeat's own connection. It is made in the runtime that asks for it and again when it is lost.
pub(super) struct PostgresHeart {
    caller: Caller,
}

impl PostgresHeart {
    /// A heart with a connection that works.
    pub(super) async fn start(
        connect: &PgConnectOptions,
        like: &Caller,
    ) -> Result<Self, StoreError> {
        let caller = Caller {
            connections: Connections::new(connect.clone(), 1),
            schema: like.schema.clone(),
            front: Front::default(),
            timeout: like.timeout,
            through_pooler: like.through_pooler,
        };
        caller.begin().await?.end().await?;
        Ok(Self { caller })
    }
}

#[async_trait]
impl Heart for PostgresHeart {
    async fn beat(&mut self, leases: &[Extension], _now: Timestamp) -> Result<Beat, StoreError> {
        beat(&self.caller, leases).await
    }
}
