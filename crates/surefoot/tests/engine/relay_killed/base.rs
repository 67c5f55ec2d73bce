//! The database of the appenders, of the relays and of the consumer: a SQLite file, or a schema on PostgreSQL. What was said is
//! written in the transaction that appends it, and after it, so under one key in the order of the commits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use surefoot::core::error::StoreError;
use surefoot::core::id::{Consumer, MessageId, OrderKey, Source, Tenant, Topic};
use surefoot::core::message::{Accepted, Message, Receipt};
use surefoot::core::payload::Payload;
use surefoot::core::port::{Messages, SinkDepth, Store};
use surefoot::core::time::{Clock, Timestamp};
use surefoot::{Failure, NodeClock};
use surefoot_store::postgres::sqlx::{self, AssertSqlSafe, PgPool, Row, postgres::PgPoolOptions};
use surefoot_store::postgres::{PostgresOptions, PostgresStore};
use surefoot_store::sqlite::SqliteStore;
use surefoot_store::sqlite::rusqlite::Transaction;

use super::Said;

/// The name of the only sink.
pub(super) const SINK: &str = "loyalty";

/// How many connections of its own a process has on PostgreSQL at most.
const CONNECTIONS_MAX: u32 = 12;
const SQLITE_TABLES: &str = "
    create table said (place integer primary key autoincrement, key text not null, number integer not null);
    create table applied (place integer primary key autoincrement, key text not null, number integer not null)";
const POSTGRES_TABLES: &str = "
    create table {schema}.said (place bigint generated always as identity, key text not null, number bigint not null);
    create table {schema}.applied (place bigint generated always as identity, key text not null, number bigint not null)";

/// Where it is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// This file.
    Sqlite(PathBuf),
    /// This schema on the server that `scripts/with-postgres` started.
    Postgres(String),
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    RollBack,
}

impl Place {
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite {}", path.display()),
            Self::Postgres(schema) => format!("postgres {schema}"),
        }
    }

    pub(super) fn parse(text: &str) -> Self {
        match text.split_once(' ').unwrap() {
            ("sqlite", path) => Self::Sqlite(path.into()),
            (_, schema) => Self::Postgres(schema.to_owned()),
        }
    }
}

pub(super) struct Base {
    clock: NodeClock,
    kind: Kind,
}

enum Kind {
    Sqlite(SqliteStore),
    Postgres {
        store: PostgresStore,
        schema: String,
        /// The service's own connections.
        pool: PgPool,
    },
}

fn url() -> String {
    std::env::var("SUREFOOT_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("SUREFOOT_TEST_POSTGRES names no PostgreSQL server; run ./test, or scripts/with-postgres cargo test")
    })
}

impl Base {
    pub(super) async fn open(place: &Place) -> Self {
        let kind = match place {
            Place::Sqlite(path) => Kind::Sqlite(SqliteStore::open(path).await.unwrap()),
            Place::Postgres(schema) => {
                let options = PostgresOptions {
                    schema: schema.clone(),
                    ..PostgresOptions::parse(&url()).unwrap()
                };
                let own = PgPoolOptions::new().max_connections(CONNECTIONS_MAX);
                Kind::Postgres {
                    store: PostgresStore::open_with(options).await.unwrap(),
                    schema: schema.clone(),
                    pool: own.connect_lazy(&url()).unwrap(),
                }
            }
        };
        let clock = match &kind {
            Kind::Sqlite(store) => NodeClock::measured(store).await,
            Kind::Postgres { store, .. } => NodeClock::measured(store).await,
        };
        Self {
            clock: clock.unwrap(),
            kind,
        }
    }

    pub(super) fn store(&self) -> Arc<dyn Store> {
        match &self.kind {
            Kind::Sqlite(store) => Arc::new(store.clone()),
            Kind::Postgres { store, .. } => Arc::new(store.clone()),
        }
    }

    pub(super) fn messages(&self) -> Arc<dyn Messages> {
        match &self.kind {
            Kind::Sqlite(store) => Arc::new(store.clone()),
            Kind::Postgres { store, .. } => Arc::new(store.clone()),
        }
    }

    pub(super) async fn prepare(&self) {
        match &self.kind {
            Kind::Sqlite(store) => {
                let made =
                    |tx: &Transaction<'_>| Ok::<_, Failure>(tx.execute_batch(SQLITE_TABLES)?);
                store.write(made).await.unwrap();
            }
            Kind::Postgres { schema, pool, .. } => {
                run(pool, &POSTGRES_TABLES.replace("{schema}", schema)).await;
            }
        }
    }

    /// Removes what outlives a test.
    pub(super) async fn remove(&self) {
        if let Kind::Postgres { schema, pool, .. } = &self.kind {
            run(pool, &format!("drop schema {schema} cascade")).await;
        }
    }

    /// One transaction that says these and appends them, and ends so much later.
    pub(super) async fn append(&self, said: Vec<Said>, open_for: Duration, end: End) {
        let now = self.clock.now();
        let messages: Vec<Message> = said.iter().map(|said| message(said, now)).collect();
        match &self.kind {
            Kind::Sqlite(store) => {
                let written = store.write(move |tx| {
                    SqliteStore::append_in(tx, &messages)?;
                    for (key, number) in &said {
                        let sql = "insert into said (key, number) values (?1, ?2)";
                        tx.execute(sql, (key, number))?;
                    }
                    // There is one writer, and it waits.
                    std::thread::sleep(open_for / 4);
                    match end {
                        End::Commit => Ok(()),
                        End::RollBack => Err(Failure::permanent("it was not to be")),
                    }
                });
                assert_eq!(written.await.is_ok(), end == End::Commit);
            }
            Kind::Postgres {
                store,
                schema,
                pool,
            } => {
                let mut tx = pool.begin().await.unwrap();
                store.append_in(&mut tx, &messages).await.unwrap();
                for (key, number) in &said {
                    let sql = format!("insert into {schema}.said (key, number) values ($1, $2)");
                    let insert = sqlx::query(AssertSqlSafe(sql)).bind(key).bind(number);
                    insert.execute(&mut *tx).await.unwrap();
                }
                tokio::time::sleep(open_for).await;
                match end {
                    End::Commit => tx.commit().await.unwrap(),
                    End::RollBack => tx.rollback().await.unwrap(),
                }
            }
        }
    }

    /// One transaction that accepts a message and applies it, once.
    pub(super) async fn apply(&self, id: MessageId, (key, number): Said) {
        let receipt = Receipt {
            tenant: Tenant::single(),
            source: Source::outbox(),
            message: id,
            consumer: Consumer::new(SINK).unwrap(),
        };
        let now = self.clock.now();
        match &self.kind {
            Kind::Sqlite(store) => {
                let applied = store.write(move |tx| -> Result<(), Failure> {
                    if SqliteStore::accept_in(tx, &receipt, now)? == Accepted::First {
                        let sql = "insert into applied (key, number) values (?1, ?2)";
                        tx.execute(sql, (key, number))?;
                    }
                    Ok(())
                });
                applied.await.unwrap();
            }
            Kind::Postgres {
                store,
                schema,
                pool,
            } => {
                let mut tx = pool.begin().await.unwrap();
                let accepted = store.accept_in(&mut tx, &receipt, now).await.unwrap();
                if accepted == Accepted::First {
                    let sql = format!("insert into {schema}.applied (key, number) values ($1, $2)");
                    let insert = sqlx::query(AssertSqlSafe(sql)).bind(key).bind(number);
                    insert.execute(&mut *tx).await.unwrap();
                }
                tx.commit().await.unwrap();
            }
        }
    }

    pub(super) async fn depth(&self) -> Result<Vec<SinkDepth>, StoreError> {
        self.messages().message_depth().await
    }

    pub(super) async fn is_open(&self) -> bool {
        let depth = self.depth().await.unwrap();
        depth.iter().any(|depth| depth.oldest.is_some())
    }

    /// What was committed, in the order of each key.
    pub(super) async fn said(&self) -> Vec<Said> {
        self.all("said").await
    }

    /// What was applied, in this order.
    pub(super) async fn applied(&self) -> Vec<Said> {
        self.all("applied").await
    }

    async fn all(&self, table: &'static str) -> Vec<Said> {
        match &self.kind {
            Kind::Sqlite(store) => {
                let look = move |tx: &Transaction<'_>| -> Result<Vec<Said>, Failure> {
                    let sql = format!("select key, number from {table} order by place");
                    let mut statement = tx.prepare(&sql)?;
                    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
                    Ok(rows.collect::<Result<_, _>>()?)
                };
                store.write(look).await.unwrap()
            }
            Kind::Postgres { schema, pool, .. } => {
                let sql = format!("select key, number from {schema}.{table} order by place");
                let rows = sqlx::query(AssertSqlSafe(sql))
                    .fetch_all(pool)
                    .await
                    .unwrap();
                rows.iter().map(|row| (row.get(0), row.get(1))).collect()
            }
        }
    }
}

async fn run(pool: &PgPool, sql: &str) {
    let sql = AssertSqlSafe(sql.to_owned());
    sqlx::raw_sql(sql).execute(pool).await.unwrap();
}

fn message(said: &Said, now: Timestamp) -> Message {
    let (key, number) = said;
    Message {
        id: MessageId::new(format!("m-{number}")).unwrap(),
        tenant: Tenant::single(),
        topic: Topic::new("order.paid").unwrap(),
        key: (!key.is_empty()).then(|| OrderKey::new(key).unwrap()),
        payload: Payload::from_serialize(said).unwrap(),
        trace: None,
        appended_at: now,
    }
}
