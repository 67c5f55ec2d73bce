//! Jobs behind a concurrency key that is at its limit. A claim that comes across one sets it aside, so that the next
//! claim does not walk through a hundred thousand of them again. Limits belong to claims, not to jobs, so a crowd keeps
//! how many of its group run: each claim looks at the crowds that have room under its own limit, and at no others.

use surefoot_core::error::StoreError;
use surefoot_core::id::{ConcurrencyKey, Kind, Tenant};
use surefoot_core::port::KindTerms;

use super::super::ledger::Ledger;
use super::super::row::{column, count};
use super::lane::Lane;
use super::take::Taking;

/// How many crowds of one lane a claim looks at, those first of which the fewest run.
const CROWDS_MAX: i64 = 1000;

statements! {
    RUNNING = "-- crowd: how many of a group run
        select count(*) from surefoot_job indexed by surefoot_job_shared
        where state = 'running' and concurrency_key is not null
            and kind = ?1 and tenant = ?2 and concurrency_key = ?3";
    RECOUNT = "-- crowd: how many of a group run, kept with its crowds
        update surefoot_crowd set running = (
            select count(*) from surefoot_job indexed by surefoot_job_shared
            where state = 'running' and concurrency_key is not null
                and kind = ?1 and tenant = ?2 and concurrency_key = ?3)
        where kind = ?1 and tenant = ?2 and concurrency_key = ?3";
    JOIN = "-- crowd: a job steps aside
        update surefoot_job set readiness = 'crowded' where seq = ?1 and readiness = 'ready'";
    OPEN = "-- crowd: the crowd that it steps into
        insert into surefoot_crowd (kind, tenant, concurrency_key, queue, running) values (?1, ?2, ?3, ?4, 0)
        on conflict (kind, tenant, concurrency_key, queue) do nothing";
    ANY = "-- crowd: whether there is any
        select 1 from surefoot_crowd limit 1";
    NEXT_QUEUE = "-- crowd: the next queue that has one
        select queue from surefoot_crowd indexed by surefoot_crowd_open where queue > ?1 order by queue limit 1";
    WITH_ROOM = "-- crowd: those with room, the emptiest first
        select tenant, concurrency_key from surefoot_crowd indexed by surefoot_crowd_open
        where queue = ?1 and kind = ?2 and running < ?3 order by running limit ?4";
    CLOSE = "-- crowd: an empty one goes
        delete from surefoot_crowd where kind = ?1 and tenant = ?2 and concurrency_key = ?3 and queue = ?4
            and not exists (select 1 from surefoot_job indexed by surefoot_job_crowded
                where readiness = 'crowded' and queue = ?4 and kind = ?1 and tenant = ?2 and concurrency_key = ?3)";
}

/// How many jobs of a kind and key run.
pub(super) fn running(
    ledger: &Ledger<'_>,
    kind: &Kind,
    tenant: &Tenant,
    key: &ConcurrencyKey,
) -> Result<u32, StoreError> {
    let group = (kind.as_str(), tenant.as_str(), key.as_str());
    Ok(ledger
        .first(RUNNING, group, |found| count(found, 0))?
        .unwrap_or(0))
}

/// Keeps the crowds of a group right after one of its jobs began or stopped to run.
pub(in crate::sqlite) fn recount(
    ledger: &Ledger<'_>,
    kind: &Kind,
    tenant: &Tenant,
    key: &ConcurrencyKey,
) -> Result<(), StoreError> {
    let group = (kind.as_str(), tenant.as_str(), key.as_str());
    ledger.execute(RECOUNT, group).map(|_| ())
}

/// Sets a ready job aside.
pub(super) fn join(
    ledger: &Ledger<'_>,
    seq: i64,
    queue: &str,
    kind: &Kind,
    tenant: &Tenant,
    key: &ConcurrencyKey,
) -> Result<(), StoreError> {
    if ledger.execute(JOIN, [seq])? == 0 {
        return Ok(());
    }
    let crowd = (kind.as_str(), tenant.as_str(), key.as_str(), queue);
    if ledger.execute(OPEN, crowd)? > 0 {
        recount(ledger, kind, tenant, key)?;
    }
    Ok(())
}

/// Forgets a crowd that has no jobs.
pub(super) fn close_if_empty(
    ledger: &Ledger<'_>,
    queue: &str,
    kind: &str,
    tenant: &str,
    key: &str,
) -> Result<(), StoreError> {
    ledger
        .execute(CLOSE, (kind, tenant, key, queue))
        .map(|_| ())
}

/// The next queue by name that has a crowd.
pub(super) fn next_queue(ledger: &Ledger<'_>, after: &str) -> Result<Option<String>, StoreError> {
    ledger.first(NEXT_QUEUE, [after], |found| column(found, 0))
}

/// Whether there is any crowd.
pub(super) fn any(ledger: &Ledger<'_>) -> Result<bool, StoreError> {
    Ok(ledger.first(ANY, (), |_| Ok(()))?.is_some())
}

/// A lane for each crowd of a queue that has room under the claim's limits.
pub(super) fn lanes(taking: &Taking<'_>, queue: &str) -> Result<Vec<Lane>, StoreError> {
    let mut lanes = Vec::new();
    if taking.may_meet_crowds() {
        for terms in taking.all_terms() {
            lanes.extend(lanes_of_kind(taking, terms, queue)?);
        }
    }
    Ok(lanes)
}

fn lanes_of_kind(
    taking: &Taking<'_>,
    terms: &KindTerms,
    queue: &str,
) -> Result<Vec<Lane>, StoreError> {
    let kind = terms.kind.as_str();
    let below = terms.concurrency_per_key_max.map_or(i64::MAX, i64::from);
    let crowds = taking
        .ledger()
        .rows(WITH_ROOM, (queue, kind, below, CROWDS_MAX), |found| {
            Ok((column(found, 0)?, column(found, 1)?))
        })?;
    Ok(crowds
        .into_iter()
        .map(|(tenant, key)| Lane::crowd(kind.to_owned(), taking.max(), tenant, key))
        .collect())
}
