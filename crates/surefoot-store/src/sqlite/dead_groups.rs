//! Dead letters by kind, reason and error fingerprint: a thousand of them read as three.

use rusqlite::{Connection, Row};
use surefoot_core::error::StoreError;
use surefoot_core::job::DeadReason;
use surefoot_core::port::{DeadGroup, PAGE_MAX};
use surefoot_core::text::ErrorFingerprint;

use super::ledger::rows;
use super::row;

statements! {
    GROUPS = "-- dead_groups: the largest groups, each with its latest letter
        with grouped as (
            select kind, dead_reason, fingerprint, count(*) as letters, min(dead_at) as oldest_at,
                max(dead_at) as latest_at
            from surefoot_job indexed by surefoot_job_dead_group where state = 'dead'
            group by kind, dead_reason, fingerprint
            order by letters desc, kind, dead_reason, fingerprint limit ?1)
        select g.kind, g.dead_reason, g.fingerprint, g.letters, g.oldest_at, g.latest_at, j.id, j.error
        from grouped as g
        join surefoot_job as j on j.seq = (
            select l.seq from surefoot_job as l indexed by surefoot_job_dead_group
            where l.state = 'dead' and l.kind = g.kind and l.dead_reason = g.dead_reason
                and l.fingerprint = g.fingerprint and l.dead_at = g.latest_at
            order by l.id desc limit 1)";
}

/// The groups, the largest first.
pub(super) fn dead_groups(connection: &Connection) -> Result<Vec<DeadGroup>, StoreError> {
    let mut groups = rows(connection, GROUPS, [PAGE_MAX], group)?;
    groups.sort_by(|one, other| {
        let name = |group: &DeadGroup| (group.kind.clone(), group.reason, group.fingerprint);
        other
            .count
            .cmp(&one.count)
            .then_with(|| name(one).cmp(&name(other)))
    });
    Ok(groups)
}

fn group(found: &Row<'_>) -> Result<DeadGroup, StoreError> {
    Ok(DeadGroup {
        kind: row::name(found, 0)?,
        reason: row::word(found, 1, DeadReason::parse)?,
        fingerprint: ErrorFingerprint::from_bits(row::column::<i64>(found, 2)?.cast_unsigned()),
        count: row::column::<i64>(found, 3)?.unsigned_abs(),
        oldest_at: row::time(found, 4)?,
        latest_at: row::time(found, 5)?,
        latest: row::id(found, 6)?,
        error: row::text(found, 7)?,
    })
}
