//! Requests that are due, that are listed and that are counted. Bodies of answers are never read for a list.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::port::{PAGE_MAX, RequestDepth, RequestFilter, RequestHead};
use surefoot_core::request::{Request, RequestId, RequestStateName};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::Caller;
use super::request::{read, request_columns};
use super::row::{column, parsed};

statements! {
    DUE = concat!("-- due_requests
        select ", request_columns!(), " from (
            (select * from surefoot.request where state = 'claimed' and due_at <= $1 order by due_at, id limit $2)
            union all
            (select * from surefoot.request where state = 'unknown' and due_at <= $1 order by due_at, id limit $2)) due
        order by due_at, id limit $2");
    LIST = concat!("-- requests
        select ", request_columns!(), " from surefoot.request
        where id < $1 and ($2::text is null or tenant = $2) and ($3::text is null or key = $3)
            and ($4::text is null or state = $4)
        order by id desc limit $5");
    OF_KEY = concat!("-- requests: the one of a tenant and a key
        select ", request_columns!(), " from surefoot.request
        where id < $1 and tenant = $2 and key = $3 and ($4::text is null or state = $4)
        order by id desc limit $5");
    OPEN = concat!("-- requests: of one open state
        select ", request_columns!(), " from surefoot.request
        where state in ('claimed', 'unknown', 'needs_human') and id < $1 and ($2::text is null or tenant = $2)
            and ($3::text is null or key = $3) and state = $4
        order by id desc limit $5");
    DEPTH = "-- request_depth
        select state, count(*) as count, min(since) as since from surefoot.request
        where state in ('claimed', 'unknown', 'needs_human') group by state";
}

/// Requests that somebody has to look at, the longest due first.
pub(super) async fn due(
    caller: &Caller,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Request>, StoreError> {
    let statement = caller
        .statement(DUE)
        .bind(now.as_micros())
        .bind(i64::from(limit.min(PAGE_MAX)));
    let rows = caller.rows(statement).await?;
    rows.iter().map(|row| read(row, None)).collect()
}

/// Requests that match, the latest first.
pub(super) async fn list(
    caller: &Caller,
    filter: &RequestFilter,
    before: Option<RequestId>,
    limit: u32,
) -> Result<Vec<RequestHead>, StoreError> {
    let sql = match (
        filter.tenant.is_some() && filter.key.is_some(),
        filter.state,
    ) {
        (true, _) => OF_KEY,
        (
            false,
            Some(
                RequestStateName::Claimed
                | RequestStateName::Unknown
                | RequestStateName::NeedsHuman,
            ),
        ) => OPEN,
        (
            false,
            Some(
                RequestStateName::Finished | RequestStateName::Released | RequestStateName::Expired,
            )
            | None,
        ) => LIST,
    };
    let statement = caller
        .statement(sql)
        .bind(before.map_or(Uuid::max(), RequestId::as_uuid))
        .bind(
            filter
                .tenant
                .as_ref()
                .map(|tenant| tenant.as_str().to_owned()),
        )
        .bind(filter.key.as_ref().map(|key| key.as_str().to_owned()))
        .bind(filter.state.map(RequestStateName::as_str))
        .bind(i64::from(limit.min(PAGE_MAX)));
    let rows = caller.rows(statement).await?;
    rows.iter().map(head).collect()
}

fn head(row: &PgRow) -> Result<RequestHead, StoreError> {
    // The body is not read; a kept answer has one, and an empty one stands for it.
    read(row, Some(Vec::new())).map(|request| RequestHead::of(&request))
}

/// How many requests are open.
pub(super) async fn depth(caller: &Caller) -> Result<RequestDepth, StoreError> {
    let mut depth = RequestDepth::default();
    for row in caller.rows(caller.statement(DEPTH)).await? {
        let state = parsed(&row, "state", |text| {
            RequestStateName::parse(text).ok_or("no state of a request")
        })?;
        let count = u64::try_from(column::<i64>(&row, "count")?).unwrap_or(0);
        match state {
            RequestStateName::Claimed => {
                depth.claimed = count;
                continue;
            }
            RequestStateName::Unknown => depth.unknown = count,
            RequestStateName::NeedsHuman => depth.needs_human = count,
            RequestStateName::Finished | RequestStateName::Released | RequestStateName::Expired => {
                continue;
            }
        }
        let since = Timestamp::from_micros(column(&row, "since")?);
        depth.oldest_unknown = Some(
            depth
                .oldest_unknown
                .map_or(since, |oldest| oldest.min(since)),
        );
    }
    Ok(depth)
}
