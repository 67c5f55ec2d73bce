//! Leases: extending them, and finding those that ended. An extension never shortens a lease and never revives one
//! that was settled.

use rusqlite::Connection;
use surefoot_core::error::StoreError;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{Extended, Extension};
use surefoot_core::time::Timestamp;

use super::ledger::{Ledger, rows};
use super::row::{self, job_columns};

statements! {
    EXTEND = "-- extend: a lease that still holds
        update surefoot_job set lease_until = max(lease_until, ?3)
        where seq = (select seq from surefoot_intent where id = ?1) and epoch = ?2 and state = 'running'
        returning lease_until, cancel_requested";
    LAPSED = concat!("-- lapsed: running jobs whose lease ended, the longest ended first
        select ", job_columns!(), "
        from (select seq from surefoot_job indexed by surefoot_job_running
              where state = 'running' and lease_until < ?1 order by lease_until, id limit ?2) as lapsed
        join surefoot_job as j on j.seq = lapsed.seq
        join surefoot_intent as i on i.seq = lapsed.seq
        left join surefoot_job_history as h on h.seq = lapsed.seq
        order by j.lease_until, j.id");
}

/// Extends a lease.
pub(super) fn extend(ledger: &Ledger<'_>, extension: &Extension) -> Result<Extended, StoreError> {
    let lease = (
        extension.job.as_uuid().into_bytes(),
        extension.epoch.0,
        extension.until.as_micros(),
    );
    let held = ledger.first(EXTEND, lease, |found| {
        Ok(Extended::Held {
            until: row::time(found, 0)?,
            cancel_requested: row::column(found, 1)?,
        })
    })?;
    Ok(held.unwrap_or(Extended::Lost))
}

/// Running jobs whose lease ended before `now`.
pub(super) fn lapsed(
    connection: &Connection,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<LeasedJob>, StoreError> {
    rows(connection, LAPSED, (now.as_micros(), limit), row::leased)
}
