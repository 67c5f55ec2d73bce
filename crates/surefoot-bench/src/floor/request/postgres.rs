//! On PostgreSQL, over a pool of connections.

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Row as _};

use super::{ASKED, DOCUMENT};
use crate::Outcome;

const TABLE: &str = "-- floor: an empty table
    create table raw_request (
        tenant text collate \"C\" not null,
        key text collate \"C\" not null,
        asked bytea not null,
        claimed_at bigint not null,
        state text not null,
        document text not null,
        body bytea,
        primary key (tenant, key)
    )";
const CLAIM: &str = "-- floor: claim a key
    insert into raw_request (tenant, key, asked, claimed_at, state, document)
    values ('default', $1, $2, $3, 'claimed', $4) on conflict do nothing returning key";
const FINISH: &str = "-- floor: keep the answer
    update raw_request set state = 'finished', document = $2, body = $3 where tenant = 'default' and key = $1";
const STORED: &str = "-- floor: the answer
    select body from raw_request where tenant = 'default' and key = $1";

pub(super) async fn open(options: PgConnectOptions, connections: u32) -> Outcome<PgPool> {
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .test_before_acquire(false)
        .connect_with(options)
        .await?;
    sqlx::query(TABLE).execute(&pool).await?;
    Ok(pool)
}

pub(super) async fn claim(pool: &PgPool, key: &str) -> Outcome<bool> {
    let claim = sqlx::query(CLAIM).bind(key).bind(&ASKED[..]);
    let claim = claim.bind(1_790_000_000_000_000_i64).bind(DOCUMENT);
    Ok(claim.fetch_optional(pool).await?.is_some())
}

pub(super) async fn finish(pool: &PgPool, key: &str, body: &[u8]) -> Outcome<()> {
    let finish = sqlx::query(FINISH).bind(key).bind(DOCUMENT).bind(body);
    finish.execute(pool).await?;
    Ok(())
}

pub(super) async fn stored(pool: &PgPool, key: &str) -> Outcome<Option<Vec<u8>>> {
    let row = sqlx::query(STORED).bind(key).fetch_optional(pool).await?;
    Ok(match row {
        Some(row) => row.try_get(0)?,
        None => None,
    })
}
