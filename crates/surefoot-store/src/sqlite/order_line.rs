//! The line behind each order key. One job stands in front and may be claimed; the others are parked, so that a claim
//! never looks at them. In front is who runs, retries or verifies, else the earliest enqueued; a unique index sees to it that
//! there is one front. Whenever a job joins or leaves a line, exactly one of these functions is called for it.

use rusqlite::Row;
use surefoot_core::error::StoreError;
use surefoot_core::id::{OrderKey, Tenant};
use surefoot_core::job::StateName;

use super::ledger::Ledger;
use super::row::{column, word};

statements! {
    FRONT = "-- order_line: who stands in front
        select seq, state from surefoot_job indexed by surefoot_job_front
        where tenant = ?1 and order_key = ?2
            and order_key is not null and state <> 'dead' and readiness is not 'parked'";
    EARLIEST = "-- order_line: who was enqueued first of those in line
        select seq, state from surefoot_job indexed by surefoot_job_line
        where tenant = ?1 and order_key = ?2 and order_key is not null and state <> 'dead'
        order by seq limit 1";
    TO_FRONT = "-- order_line: a parked job comes to the front
        update surefoot_job set readiness = 'ready' where seq = ?1 and readiness = 'parked'";
    PARK = "-- order_line: a waiting job goes behind another
        update surefoot_job set readiness = 'parked' where seq = ?1 and state = 'pending'";
    STARTED_OTHER = "-- order_line: whether another job of the key runs, retries or verifies
        select 1 from surefoot_job indexed by surefoot_job_front
        where tenant = ?1 and order_key = ?2 and seq <> ?3 and state in ('running', 'retrying', 'verifying')
            and order_key is not null and state <> 'dead' and readiness is not 'parked'";
    EARLIER_OTHER = "-- order_line: whether a job of the key was enqueued earlier
        select 1 from surefoot_job indexed by surefoot_job_line
        where tenant = ?1 and order_key = ?2 and seq < ?3 and order_key is not null and state <> 'dead' limit 1";
}

/// Where a waiting job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In front of its order key, or under none.
    Front,
    /// Behind another job.
    Behind,
}

impl Place {
    /// The word in the column `readiness`.
    pub(super) const fn readiness(self) -> &'static str {
        match self {
            Self::Front => "ready",
            Self::Behind => "parked",
        }
    }
}

/// A job in a line.
struct Standing {
    seq: i64,
    state: StateName,
}

/// The place of a job that is written down after all others.
pub(super) fn arrive(
    ledger: &Ledger<'_>,
    tenant: &Tenant,
    order_key: Option<&OrderKey>,
) -> Result<Place, StoreError> {
    let Some(order_key) = order_key else {
        return Ok(Place::Front);
    };
    Ok(match front(ledger, tenant, order_key)? {
        None => Place::Front,
        Some(_) => Place::Behind,
    })
}

/// The place of a dead letter that is replayed: its old one among those that are pending, behind one that runs,
/// retries or verifies.
pub(super) fn come_back(
    ledger: &Ledger<'_>,
    seq: i64,
    tenant: &Tenant,
    order_key: Option<&OrderKey>,
) -> Result<Place, StoreError> {
    let Some(order_key) = order_key else {
        return Ok(Place::Front);
    };
    match front(ledger, tenant, order_key)? {
        None => Ok(Place::Front),
        Some(other) if other.state == StateName::Pending && other.seq > seq => {
            ledger.execute_one(PARK, [other.seq])?;
            Ok(Place::Front)
        }
        Some(_) => Ok(Place::Behind),
    }
}

/// Lets the next one come to the front after a job left its line, or after the front was given back behind an
/// earlier one.
pub(super) fn move_up(
    ledger: &Ledger<'_>,
    tenant: &Tenant,
    order_key: Option<&OrderKey>,
) -> Result<(), StoreError> {
    let Some(order_key) = order_key else {
        return Ok(());
    };
    if front(ledger, tenant, order_key)?.is_some() {
        return Ok(());
    }
    match earliest(ledger, tenant, order_key)? {
        None => Ok(()),
        Some(next) => ledger.execute_one(TO_FRONT, [next.seq]),
    }
}

/// Whether an earlier job than this one waits in its line: a replayed dead letter, while this one ran.
pub(super) fn is_preceded(
    ledger: &Ledger<'_>,
    seq: i64,
    tenant: &Tenant,
    order_key: Option<&OrderKey>,
) -> Result<bool, StoreError> {
    let Some(order_key) = order_key else {
        return Ok(false);
    };
    let key = (tenant.as_str(), order_key.as_str(), seq);
    Ok(ledger.first(EARLIER_OTHER, key, |_| Ok(()))?.is_some())
}

/// Whether a waiting job may run as far as its order key goes: no other job of the key was begun and, unless it
/// retries or verifies itself and so holds the key, none was enqueued earlier. What the places say is only how it is found.
pub(super) fn may_run(
    ledger: &Ledger<'_>,
    seq: i64,
    state: StateName,
    tenant: &Tenant,
    order_key: Option<&OrderKey>,
) -> Result<bool, StoreError> {
    let Some(key) = order_key else {
        return Ok(true);
    };
    let started = (tenant.as_str(), key.as_str(), seq);
    if ledger.first(STARTED_OTHER, started, |_| Ok(()))?.is_some() {
        return Ok(false);
    }
    match state {
        StateName::Retrying | StateName::Verifying => Ok(true),
        StateName::Pending
        | StateName::Running
        | StateName::Succeeded
        | StateName::Dead
        | StateName::Cancelled
        | StateName::Ignored => Ok(!is_preceded(ledger, seq, tenant, order_key)?),
    }
}

fn front(
    ledger: &Ledger<'_>,
    tenant: &Tenant,
    order_key: &OrderKey,
) -> Result<Option<Standing>, StoreError> {
    ledger.first(FRONT, (tenant.as_str(), order_key.as_str()), standing)
}

fn earliest(
    ledger: &Ledger<'_>,
    tenant: &Tenant,
    order_key: &OrderKey,
) -> Result<Option<Standing>, StoreError> {
    ledger.first(EARLIEST, (tenant.as_str(), order_key.as_str()), standing)
}

fn standing(row: &Row<'_>) -> Result<Standing, StoreError> {
    Ok(Standing {
        seq: column(row, 0)?,
        state: word(row, 1, StateName::parse)?,
    })
}
