//! Dead letters by kind, reason and error fingerprint: a thousand of them read as three.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::job::DeadReason;
use surefoot_core::port::{DeadGroup, PAGE_MAX};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::Caller;
use super::depth::number;
use super::row::{column, fingerprint, parsed};

statements! {
    DEAD_GROUPS = "-- dead_groups
        select g.kind, g.dead_reason, g.fingerprint, g.count, g.oldest_at, g.latest_at, l.id as latest, l.error
        from (
            select kind, dead_reason, fingerprint, count(*) as count, min(dead_at) as oldest_at, max(dead_at) as latest_at
            from surefoot.dead_letter group by kind, dead_reason, fingerprint
            order by count(*) desc, kind, dead_reason, fingerprint limit $1) g
        cross join lateral (
            select d.id, d.error from surefoot.dead_letter d
            where d.kind = g.kind and d.dead_reason = g.dead_reason and d.fingerprint = g.fingerprint
            order by d.dead_at desc, d.id desc limit 1) l";
}

/// Dead letters by kind, reason and error fingerprint, the largest group first.
pub(super) async fn dead_groups(caller: &Caller) -> Result<Vec<DeadGroup>, StoreError> {
    let rows = caller
        .rows(caller.statement(DEAD_GROUPS).bind(i64::from(PAGE_MAX)))
        .await?;
    let mut groups = rows.iter().map(group).collect::<Result<Vec<_>, _>>()?;
    groups.sort_by(|one, other| {
        let place = |group: &DeadGroup| (group.kind.clone(), group.reason, group.fingerprint);
        other
            .count
            .cmp(&one.count)
            .then_with(|| place(one).cmp(&place(other)))
    });
    Ok(groups)
}

fn group(row: &PgRow) -> Result<DeadGroup, StoreError> {
    Ok(DeadGroup {
        kind: parsed(row, "kind", str::parse)?,
        reason: parsed(row, "dead_reason", |text| {
            DeadReason::parse(text).ok_or("no dead reason")
        })?,
        fingerprint: fingerprint(column(row, "fingerprint")?),
        error: ErrorText::from(column::<&str>(row, "error")?),
        latest: JobId::from_uuid(column::<Uuid>(row, "latest")?),
        count: number(row, "count")?,
        oldest_at: Timestamp::from_micros(column(row, "oldest_at")?),
        latest_at: Timestamp::from_micros(column(row, "latest_at")?),
    })
}
