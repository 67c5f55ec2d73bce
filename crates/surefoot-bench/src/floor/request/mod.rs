//! What a service writes that guards its requests by hand: it claims a key by an INSERT, answers, and keeps the answer by an
//! UPDATE; and it answers a repetition by a SELECT on the primary key. The rows are the layer's, column by column, under
//! indexes for the same questions (by id, what is open, what leaves next), each statement its own durable commit.

mod postgres;
mod sqlite;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use surefoot_core::request::RequestId;
use surefoot_core::time::Timestamp;

use crate::Outcome;

/// What the layer keeps of the request that is asked here, and what it knows of it before and after.
const FINGERPRINT: [u8; 32] = [7; 32];
const FIELDS: &str = r#"{"body.amount":"0123456789abcdef","body.currency":"0123456789abcdef","body.note":"0123456789abcdef","content-type":"0123456789abcdef","method":"0123456789abcdef","path":"0123456789abcdef","route":"0123456789abcdef"}"#;
const CLAIMED: &str = r#"{"format":1,"clocks":{"lease":60000000,"retention":86400000000,"tombstone":604800000000,"settles_within":0},"epoch":1,"settles_at":1790000060000000,"state":{"claimed":{"claim":"01890a5d-ac96-774b-bcce-b302099a8057","holder":"bench","since":1790000000000000,"lease_until":1790000060000000}}}"#;
const FINISHED: &str = r#"{"format":1,"clocks":{"lease":60000000,"retention":86400000000,"tombstone":604800000000,"settles_within":0},"epoch":1,"settles_at":1790000060000000,"state":{"finished":{"at":1790000000000000,"kept":{"response":{"status":201,"headers":[["content-type",{"text":"application/json"}]]}},"by":{"run":1}}}}"#;

/// The id and the time of a new request, made as the layer makes them.
fn new_id() -> (RequestId, i64) {
    let now = now();
    let mut random = [0; 10];
    fastrand::fill(&mut random);
    (RequestId::new(Timestamp::from_micros(now), random), now)
}

/// Microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(i64::MAX)
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

    /// The same, and it reads on the caller's thread where a read blocks one.
    pub(crate) fn at_once(self) -> Self {
        match self {
            Self::Sqlite(requests) => Self::Sqlite(requests.at_once()),
            Self::Postgres(pool) => Self::Postgres(pool),
        }
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
