//! Expire: a waiting job whose deadline passed becomes a dead letter. It must never touch a job that runs, nor one that is
//! verifying.

use std::collections::HashSet;

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Kind};
use surefoot_core::job::{DeadReason, StateName};
use surefoot_core::port::{BATCH_MAX, ExpiredJob};
use surefoot_core::settle::expired;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::{Caller, Statement};
use super::row::{column, parsed};

statements! {
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

/// Makes dead letters of waiting jobs past their deadline, those apart that were claimed or changed meanwhile.
pub(super) async fn expire(
    caller: &Caller,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<ExpiredJob>, StoreError> {
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
    let gone: HashSet<Uuid> = ids.unwrap_or_default().into_iter().collect();
    overdue.retain(|job| gone.contains(&job.id));
    Ok(overdue.into_iter().map(Overdue::expired).collect())
}

/// A job past its deadline, as it was seen, and what is to be said of it.
struct Overdue {
    id: Uuid,
    kind: Kind,
    starts: i32,
    state: String,
    reason: DeadReason,
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
            kind,
            starts: column(row, "starts")?,
            state,
            reason: death.reason,
            error: death.error.as_str().to_owned(),
            fingerprint: death.fingerprint.to_bits().cast_signed(),
        })
    }

    fn expired(self) -> ExpiredJob {
        ExpiredJob {
            job: JobId::from_uuid(self.id),
            kind: self.kind,
            reason: self.reason,
        }
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
        .bind(
            overdue
                .iter()
                .map(|job| job.reason.as_str())
                .collect::<Vec<_>>(),
        )
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
