//! What a service writes that guards its requests by hand: it claims a key by an INSERT, answers, and keeps the answer by an
//! UPDATE; and it answers a repetition by a SELECT on the primary key. Rows of the width of the layer's under indexes for the same
//! questions (by id, what is open, what leaves next), each statement its own durable commit.

mod postgres;
mod sqlite;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use surefoot_core::request::RequestId;
use surefoot_core::time::Timestamp;

use crate::Outcome;

/// As wide as what the layer keeps beside the key and the body: fingerprint, times, headers.
const ASKED: [u8; 32] = [7; 32];
const DOCUMENT: &str = r#"{"state":"finished","status":201,"headers":[["content-type","application/json"]],"lease_until":1790000060000000,"expires_at":1790086400000000}"#;

/// The id and the time of a new request, made as the layer makes them.
fn new_id() -> (RequestId, i64) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = i64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(i64::MAX);
    let now = Timestamp::from_micros(micros);
    let mut random = [0; 10];
    fastrand::fill(&mut random);
    (RequestId::new(now, random), now.as_micros())
}

/// Requests by hand.
#[derive(Clone)]
pub(crate) enum RequestFloor {
    Sqlite(sqlite::Requests),
    Postgres(PgPool),
}

impl RequestFloor {
    /// On a new file.
    pub(crate) fn sqlite(file: &Path) -> Outcome<Self> {
        sqlite::Requests::open(file).map(Self::Sqlite)
    }

    /// On a database without its table, over so many connections.
    pub(crate) async fn postgres(options: PgConnectOptions, connections: u32) -> Outcome<Self> {
        postgres::open(options, connections)
            .await
            .map(Self::Postgres)
    }

    /// Claims a key. Answers whether it was free.
    pub(crate) async fn claim(&self, key: String) -> Outcome<bool> {
        match self {
            Self::Sqlite(requests) => requests.claim(key).await,
            Self::Postgres(pool) => postgres::claim(pool, &key).await,
        }
    }

    /// Keeps the answer under a claimed key.
    pub(crate) async fn finish(&self, key: String, body: Vec<u8>) -> Outcome<()> {
        match self {
            Self::Sqlite(requests) => requests.finish(key, body).await,
            Self::Postgres(pool) => postgres::finish(pool, &key, &body).await,
        }
    }

    /// The answer under a key.
    pub(crate) async fn stored(&self, key: String) -> Outcome<Option<Vec<u8>>> {
        match self {
            Self::Sqlite(requests) => requests.stored(key).await,
            Self::Postgres(pool) => postgres::stored(pool, &key).await,
        }
    }
}
