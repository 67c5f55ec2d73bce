//! What of requests leaves: answers at the end of their retention, records at the end of their tombstone, a bounded number
//! at a time. What is open is in neither index and never touched. Rows that somebody else has locked are left to the next
//! time.

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, Forgotten};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::Caller;
use super::fault::broken;
use super::request::{read, request_columns};
use super::row::column;
use crate::request_record::encode;

statements! {
    STALE = concat!("-- forget_requests: answers whose retention is over
        select ", request_columns!(), " from surefoot.request
        where state = 'finished' and leaves_at <= $1 order by leaves_at, id limit $2");
    EXPIRE = "-- forget_requests: answers leave
        with held as materialized (
            select r.id from surefoot.request r where r.id = any ($1) order by r.id for update skip locked)
        update surefoot.request r
        set version = i.version, state = 'expired', leaves_at = i.leaves_at, document = i.document, body = null
        from held h join unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[])
            i (id, version, leaves_at, document) on i.id = h.id
        where r.id = h.id and r.version = i.version - 1
        returning r.id";
    FORGET = "-- forget_requests: records leave, and their keys are free
        with leaving as materialized (
            select r.id, r.leaves_at from surefoot.request r
            where r.state in ('expired', 'released') and r.leaves_at <= $1
            order by r.leaves_at, r.id limit $2 + 1 for update skip locked),
        gone as (
            delete from surefoot.request r
            where r.id = any (array(select l.id from leaving l order by l.leaves_at, l.id limit $2))
            returning r.id)
        select (select count(*) from gone) as gone, (select count(*) from leaving) > $2 as more";
}

/// Takes answers away and forgets records.
pub(super) async fn forget(
    caller: &Caller,
    now: Timestamp,
    limit: u32,
) -> Result<Forgotten, StoreError> {
    let limit = (limit as usize).min(BATCH_MAX);
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let (expired, more_stale) = expire(caller, now, limit).await?;
    let statement = caller.statement(FORGET).bind(now.as_micros()).bind(most);
    let row = caller.row(statement).await?;
    let forgotten: i64 = column(&row, "gone")?;
    Ok(Forgotten {
        expired,
        forgotten: u64::try_from(forgotten).map_err(broken)?,
        more: more_stale || column(&row, "more")?,
    })
}

/// Takes answers away; answers how many, and whether there are more.
async fn expire(caller: &Caller, now: Timestamp, limit: usize) -> Result<(u64, bool), StoreError> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX) + 1;
    let statement = caller.statement(STALE).bind(now.as_micros()).bind(most);
    let found = caller.rows(statement).await?;
    let more = found.len() > limit;
    let mut rows = Vec::new();
    for row in found.iter().take(limit) {
        // The body is not read: it is about to leave.
        if let Some(expired) = read(row, Some(Vec::new()))?.expired(now) {
            rows.push(encode(&expired)?);
        }
    }
    if rows.is_empty() {
        return Ok((0, more));
    }
    let statement = caller
        .statement(EXPIRE)
        .bind(
            rows.iter()
                .map(|row| row.id.as_uuid())
                .collect::<Vec<Uuid>>(),
        )
        .bind(rows.iter().map(|row| row.version).collect::<Vec<i64>>())
        .bind(
            rows.iter()
                .map(|row| row.leaves_at)
                .collect::<Vec<Option<i64>>>(),
        )
        .bind(
            rows.iter()
                .map(|row| row.document.clone())
                .collect::<Vec<String>>(),
        );
    let written = caller.rows(statement).await?;
    Ok((written.len() as u64, more))
}
