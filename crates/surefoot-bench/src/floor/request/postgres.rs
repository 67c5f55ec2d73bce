//! On PostgreSQL, over a pool of connections.

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Row as _};

use super::{CLAIMED, FIELDS, FINGERPRINT, FINISHED, new_id, now};
use crate::Outcome;

const TABLE: &str = "-- floor: an empty table
    create table raw_request (
        tenant text collate \"C\" not null,
        key text collate \"C\" not null,
        id uuid not null unique,
        method text not null,
        route text not null,
        fingerprint_version integer not null,
        fingerprint bytea not null,
        fields text not null,
        claimed_at bigint not null,
        version bigint not null,
        state text collate \"C\" not null,
        since bigint not null,
        due_at bigint,
        leaves_at bigint,
        document text not null,
        body bytea,
        primary key (tenant, key)
    )";
const OPEN: &str = "-- floor: what is open
    create index raw_request_open on raw_request (state, due_at, id) where state = 'claimed'";
const LEAVING: &str = "-- floor: what leaves next
    create index raw_request_leaving on raw_request (leaves_at, id) where state = 'finished'";
const CLAIM: &str = "-- floor: claim a key
    insert into raw_request (tenant, key, id, method, route, fingerprint_version, fingerprint, fields, claimed_at, version,
        state, since, due_at, document)
    values ('default', $1, $2, 'POST', '/payments', 1, $3, $4, $5, 1, 'claimed', $5, $5 + 60000000, $6)
    on conflict do nothing returning key";
const FINISH: &str = "-- floor: keep the answer
    update raw_request set version = 2, state = 'finished', since = $2, due_at = null, leaves_at = $2 + 86400000000,
        document = $3, body = $4
    where tenant = 'default' and key = $1";
const STORED: &str = "-- floor: the answer
    select body from raw_request where tenant = 'default' and key = $1";

pub(super) async fn open(options: PgConnectOptions, connections: u32) -> Outcome<PgPool> {
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .test_before_acquire(false)
        .connect_with(options)
        .await?;
    for statement in [TABLE, OPEN, LEAVING] {
        sqlx::query(statement).execute(&pool).await?;
    }
    Ok(pool)
}

pub(super) async fn claim(pool: &PgPool, key: &str) -> Outcome<bool> {
    let (id, now) = new_id();
    let claim = sqlx::query(CLAIM).bind(key).bind(id.as_uuid());
    let claim = claim.bind(&FINGERPRINT[..]).bind(FIELDS);
    let claim = claim.bind(now).bind(CLAIMED);
    Ok(claim.fetch_optional(pool).await?.is_some())
}

pub(super) async fn finish(pool: &PgPool, key: &str, body: &[u8]) -> Outcome<()> {
    let finish = sqlx::query(FINISH).bind(key).bind(now());
    finish.bind(FINISHED).bind(body).execute(pool).await?;
    Ok(())
}

pub(super) async fn stored(pool: &PgPool, key: &str) -> Outcome<Option<Vec<u8>>> {
    let row = sqlx::query(STORED).bind(key).fetch_optional(pool).await?;
    Ok(match row {
        Some(row) => row.try_get(0)?,
        None => None,
    })
}
