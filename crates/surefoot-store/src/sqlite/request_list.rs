//! Requests that are due, that are listed and that are counted. Bodies of answers are never read for a list.

use rusqlite::Connection;
use surefoot_core::error::StoreError;
use surefoot_core::port::{PAGE_MAX, RequestDepth, RequestFilter, RequestHead};
use surefoot_core::request::{Request, RequestId, RequestStateName};
use surefoot_core::time::Timestamp;

use super::ledger::{first, rows};
use super::request::{known, request, request_columns};
use super::row;

statements! {
    DUE = concat!("-- due_requests: of one open state, the longest due first
        select ", request_columns!(), " from surefoot_request indexed by surefoot_request_open
        where state = ?1 and state in ('claimed', 'unknown', 'needs_human') and due_at <= ?2
        order by due_at, id limit ?3");
    LATEST = concat!("-- requests: of any state, the latest first
        select ", request_columns!(), " from surefoot_request
        where id < ?1 and (?2 is null or tenant = ?2) and (?3 is null or state = ?3) order by id desc limit ?4");
    OPEN = concat!("-- requests: of one open state, the latest first
        select ", request_columns!(), " from surefoot_request indexed by surefoot_request_open
        where state = ?3 and state in ('claimed', 'unknown', 'needs_human') and id < ?1 and (?2 is null or tenant = ?2)
        order by id desc limit ?4");
    COUNT = "-- request_depth: of one open state
        select count(*), min(since) from surefoot_request indexed by surefoot_request_open
        where state = ?1 and state in ('claimed', 'unknown', 'needs_human')";
}

/// Requests that somebody has to look at, the longest due first.
pub(super) fn due(
    connection: &Connection,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Request>, StoreError> {
    let limit = limit.min(PAGE_MAX);
    let mut due = Vec::new();
    for state in [RequestStateName::Claimed, RequestStateName::Unknown] {
        let asked = (state.as_str(), now.as_micros(), limit);
        due.extend(rows(connection, DUE, asked, |found| request(found, None))?);
    }
    due.sort_by_key(|request| (request.due_at(), request.id));
    due.truncate(limit as usize);
    Ok(due)
}

/// Requests that match, the latest first.
pub(super) fn list(
    connection: &Connection,
    filter: &RequestFilter,
    before: Option<RequestId>,
    limit: u32,
) -> Result<Vec<RequestHead>, StoreError> {
    if let (Some(tenant), Some(key)) = (&filter.tenant, &filter.key) {
        let identity = surefoot_core::request::Identity {
            tenant: tenant.clone(),
            key: key.clone(),
        };
        return Ok(known(connection, &identity)?
            .filter(|request| {
                filter.matches(request) && before.is_none_or(|before| request.id < before)
            })
            .iter()
            .take(limit as usize)
            .map(RequestHead::of)
            .collect());
    }
    let sql = match filter.state {
        Some(
            RequestStateName::Claimed | RequestStateName::Unknown | RequestStateName::NeedsHuman,
        ) => OPEN,
        Some(
            RequestStateName::Finished | RequestStateName::Released | RequestStateName::Expired,
        )
        | None => LATEST,
    };
    let mut page = Vec::new();
    let mut before = before.map_or([0xff; 16], |before| before.as_uuid().into_bytes());
    let limit = limit.min(PAGE_MAX) as usize;
    // A key without its tenant is no way into the table: whole pages are read and sifted.
    while page.len() < limit {
        let asked = (
            before,
            filter.tenant.as_ref().map(|tenant| tenant.as_str()),
            filter.state.map(RequestStateName::as_str),
            PAGE_MAX,
        );
        let found = rows(connection, sql, asked, head)?;
        let Some(last) = found.last() else { break };
        before = last.id.as_uuid().into_bytes();
        let matching = found.into_iter().filter(|head| {
            filter
                .key
                .as_ref()
                .is_none_or(|key| *key == head.identity.key)
        });
        page.extend(matching.take(limit - page.len()));
    }
    Ok(page)
}

fn head(found: &rusqlite::Row<'_>) -> Result<RequestHead, StoreError> {
    // The body is not read; a kept answer has one, and an empty one stands for it.
    request(found, Some(Vec::new())).map(|request| RequestHead::of(&request))
}

/// How many requests are open.
pub(super) fn depth(connection: &Connection) -> Result<RequestDepth, StoreError> {
    let count = |state: RequestStateName| -> Result<(u64, Option<Timestamp>), StoreError> {
        let counted = first(connection, COUNT, [state.as_str()], |found| {
            let oldest: Option<i64> = row::column(found, 1)?;
            Ok((
                row::column::<i64>(found, 0)?,
                oldest.map(Timestamp::from_micros),
            ))
        })?;
        let (count, oldest) = counted.unwrap_or_default();
        Ok((u64::try_from(count).unwrap_or(0), oldest))
    };
    let (claimed, _) = count(RequestStateName::Claimed)?;
    let (unknown, oldest_unknown) = count(RequestStateName::Unknown)?;
    let (needs_human, oldest_waiting) = count(RequestStateName::NeedsHuman)?;
    Ok(RequestDepth {
        claimed,
        unknown,
        needs_human,
        oldest_unknown: oldest_unknown.into_iter().chain(oldest_waiting).min(),
    })
}
