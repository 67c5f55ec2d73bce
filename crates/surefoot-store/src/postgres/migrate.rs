//! Brings a schema to this build's version: idempotent, safe when several nodes start at once, and never backwards. Each
//! migration is one transaction under a lock that ends with it; a session-level lock would stay with a pooler's server.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection, Row};
use surefoot_core::error::StoreError;

use super::fault::{Fault, TimedOut, broken};
use super::schema::Schema;

/// A step of the schema. Those that were released never change.
struct Migration {
    version: i64,
    name: &'static str,
    parts: &'static [&'static str],
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "jobs",
        parts: &[
            include_str!("migrations/0001/tables.sql"),
            include_str!("migrations/0001/claim.sql"),
            include_str!("migrations/0001/gate.sql"),
            include_str!("migrations/0001/settle.sql"),
            include_str!("migrations/0001/enqueue.sql"),
            include_str!("migrations/0001/lease.sql"),
            include_str!("migrations/0001/effect.sql"),
            include_str!("migrations/0001/look.sql"),
            include_str!("migrations/0001/history.sql"),
        ],
    },
    Migration {
        version: 2,
        name: "requests",
        parts: &[include_str!("migrations/0002/requests.sql")],
    },
    Migration {
        version: 3,
        name: "messages",
        parts: &[
            include_str!("migrations/0003/tables.sql"),
            include_str!("migrations/0003/append.sql"),
            include_str!("migrations/0003/deliver.sql"),
            include_str!("migrations/0003/forget.sql"),
        ],
    },
    Migration {
        version: 4,
        name: "request_checks",
        parts: &[include_str!("migrations/0004/request_checks.sql")],
    },
    Migration {
        version: 5,
        name: "departures",
        parts: &[include_str!("migrations/0005/departures.sql")],
    },
];

/// The longest that all of it may take, waiting for another node included.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest that a statement of a migration waits for a lock, so that it never stands in the way of those who work.
const LOCK_PATIENCE: &str = "5s";

statements! {
    EXISTS = "-- migrate: whether there is anything
        select to_regclass('surefoot' || '.migration') is not null as there, to_regnamespace('surefoot') is not null as named,
            pg_encoding_to_char(d.encoding) as encoding
        from pg_database d where d.datname = current_database()";
    VERSION = "-- migrate: the version in the database
        select coalesce(max(version), 0) as version from surefoot.migration";
}

const BEGIN: &str = "-- migrate: begin
    begin isolation level read committed;
    set local lock_timeout = '{patience}';
    set local statement_timeout = '60s';
    select pg_advisory_xact_lock(1398096456, hashtext('surefoot'))";
const LAY_GROUND: &str = "-- migrate: lay the ground
    create table if not exists surefoot.migration (
        version bigint primary key, name text not null, applied_at timestamptz not null default clock_timestamp())";
const RECORD: &str = "-- migrate: record
    insert into surefoot.migration (version, name) values ({version}, '{name}')";
const PARTITIONS: &str = "-- migrate: the first partitions
    select surefoot.prepare_partitions(surefoot.now_micros())";

/// The newest version that this build knows.
fn known() -> i64 {
    MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}

/// Brings the schema up to date.
pub(super) async fn migrate(options: &PgConnectOptions, schema: &Schema) -> Result<(), StoreError> {
    let work = async {
        let mut connection = options
            .connect()
            .await
            .map_err(|error| Fault::of(error).error)?;
        let migrator = Migrator {
            connection: &mut connection,
            schema,
        };
        migrator.run().await
    };
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Unavailable(Box::new(TimedOut(PATIENCE)))),
    }
}

struct Migrator<'a> {
    connection: &'a mut PgConnection,
    schema: &'a Schema,
}

impl Migrator<'_> {
    async fn run(mut self) -> Result<(), StoreError> {
        if self.version().await? == known() {
            return Ok(());
        }
        self.plain(&BEGIN.replace("{patience}", LOCK_PATIENCE))
            .await?;
        if !self.named().await? {
            self.plain("-- migrate: make the schema\n create schema surefoot")
                .await?;
        }
        self.plain(LAY_GROUND).await?;
        // Another node may have been here while this one waited.
        let found = self.version().await?;
        for migration in MIGRATIONS
            .iter()
            .filter(|migration| migration.version > found)
        {
            self.apply(migration).await?;
        }
        self.plain(PARTITIONS).await?;
        self.plain("-- migrate: commit\n commit").await
    }

    async fn apply(&mut self, migration: &Migration) -> Result<(), StoreError> {
        for part in migration.parts {
            self.plain(part).await?;
        }
        let record = RECORD
            .replace("{version}", &migration.version.to_string())
            .replace("{name}", migration.name);
        self.plain(&record).await
    }

    /// The version in the database, 0 when there is nothing.
    async fn version(&mut self) -> Result<i64, StoreError> {
        let row = self.one(EXISTS).await?;
        let encoding: &str = read(&row, "encoding")?;
        if encoding != "UTF8" {
            let what =
                format!("the database is encoded in {encoding}; make one with encoding 'UTF8'");
            return Err(StoreError::Refused(what.into()));
        }
        if !read::<bool>(&row, "there")? {
            return Ok(0);
        }
        let row = self.one(VERSION).await?;
        let found = read(&row, "version")?;
        if found > known() {
            return Err(StoreError::Schema {
                found,
                known: known(),
                remedy: "a newer build of surefoot has upgraded it: run that build, or a newer one",
            });
        }
        Ok(found)
    }

    /// Whether the schema is there, whoever made it: a role that may not make schemas can use one that was made for it.
    async fn named(&mut self) -> Result<bool, StoreError> {
        let row = self.one(EXISTS).await?;
        read(&row, "named")
    }

    async fn one(&mut self, statement: &'static str) -> Result<sqlx::postgres::PgRow, StoreError> {
        let query = sqlx::raw_sql(self.schema.sql(statement));
        query
            .fetch_one(&mut *self.connection)
            .await
            .map_err(|error| Fault::of(error).error)
    }

    async fn plain(&mut self, sql: &str) -> Result<(), StoreError> {
        let sql = self.schema.rewrite(sql).replace(
            "create schema surefoot",
            &format!("create schema {}", self.schema.name()),
        );
        let query = sqlx::raw_sql(AssertSqlSafe(sql));
        query
            .execute(&mut *self.connection)
            .await
            .map(drop)
            .map_err(|error| Fault::of(error).error)
    }
}

fn read<'r, T>(row: &'r sqlx::postgres::PgRow, name: &'static str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(name).map_err(broken)
}
