//! The account, and how an event changes it: one transaction for the question whether it is new and for the points. The
//! statements stand here and not in the store, because they are the contestants' business rows.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use sqlx::{Connection as _, PgConnection, Row as _};

use super::inbox::Inbox;
use super::{BoxError, USER};
use crate::error::LabError;
use crate::place::Database;

/// How long to wait for another connection that writes.
const BUSY_MAX: Duration = Duration::from_secs(10);
const PRAGMAS: &str = "pragma journal_mode = wal; pragma synchronous = full;";
const CREATE: &str = "-- points: the accounts
    create table if not exists account (id text primary key, points bigint not null)";
/// SQLite's strict tables know no bigint; its integers are as wide.
const CREATE_SQLITE: &str = "-- points: the accounts
    create table if not exists account (id text primary key, points integer not null) strict";
const NEW: &str = "-- points: an account without points
    insert into account (id, points) values ($1, 0) on conflict (id) do nothing";
/// SQLite counts such parameters in the order in which they stand, so they stand in the order of their numbers.
const ADD: &str = "-- points: add some
    update account set points = points + $1 where id = $2";
const READ: &str = "-- points: how many
    select points from account where id = $1";
const CLEAR: &str = "-- points: none
    update account set points = 0 where id = $1";

/// A connection to the accounts.
pub(crate) enum Account {
    Sqlite(Connection),
    Postgres(PgConnection),
}

impl Account {
    /// Opens the database, and makes table and account when they are not there.
    pub(crate) async fn open(database: &Database) -> Result<Self, LabError> {
        match database {
            Database::Sqlite(file) => open_sqlite(file)
                .map(Self::Sqlite)
                .map_err(LabError::database("open the accounts")),
            Database::Postgres(url) => open_postgres(url)
                .await
                .map(Self::Postgres)
                .map_err(LabError::database("open the accounts")),
        }
    }

    /// Applies an event, unless the inbox knows it. Answers whether it was applied.
    pub(super) async fn apply(
        &mut self,
        inbox: &impl Inbox,
        event: &str,
        delta: i64,
    ) -> Result<bool, LabError> {
        let applied = match self {
            Self::Sqlite(connection) => apply_sqlite(connection, inbox, event, delta),
            Self::Postgres(connection) => apply_postgres(connection, inbox, event, delta).await,
        };
        applied.map_err(LabError::database("apply an event"))
    }

    /// The points of the account.
    pub(crate) async fn points(&mut self) -> Result<i64, LabError> {
        let read = match self {
            Self::Sqlite(connection) => connection
                .query_row(READ, [USER], |row| row.get(0))
                .map_err(BoxError::from),
            Self::Postgres(connection) => sqlx::query(READ)
                .bind(USER)
                .fetch_one(connection)
                .await
                .map(|row| row.get(0))
                .map_err(BoxError::from),
        };
        read.map_err(LabError::database("read the points"))
    }

    /// Takes all points away, for the next contestant.
    pub(crate) async fn clear(&mut self) -> Result<(), LabError> {
        let cleared = match self {
            Self::Sqlite(connection) => connection
                .execute(CLEAR, [USER])
                .map(drop)
                .map_err(BoxError::from),
            Self::Postgres(connection) => sqlx::query(CLEAR)
                .bind(USER)
                .execute(connection)
                .await
                .map(drop)
                .map_err(BoxError::from),
        };
        cleared.map_err(LabError::database("clear the points"))
    }
}

fn apply_sqlite(
    connection: &mut Connection,
    inbox: &impl Inbox,
    event: &str,
    delta: i64,
) -> Result<bool, BoxError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_new = inbox.accept_sqlite(&transaction, event)?;
    if is_new {
        transaction.execute(ADD, (delta, USER))?;
    }
    transaction.commit()?;
    Ok(is_new)
}

async fn apply_postgres(
    connection: &mut PgConnection,
    inbox: &impl Inbox,
    event: &str,
    delta: i64,
) -> Result<bool, BoxError> {
    let mut transaction = connection.begin().await?;
    let is_new = inbox.accept_postgres(&mut transaction, event).await?;
    if is_new {
        let add = sqlx::query(ADD).bind(delta).bind(USER);
        add.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(is_new)
}

fn open_sqlite(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_MAX)?;
    connection.execute_batch(PRAGMAS)?;
    connection.execute_batch(CREATE_SQLITE)?;
    connection.execute(NEW, [USER])?;
    Ok(connection)
}

async fn open_postgres(url: &str) -> Result<PgConnection, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query(CREATE).execute(&mut connection).await?;
    sqlx::query(NEW).bind(USER).execute(&mut connection).await?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::points::{NoInbox, SqliteTransaction};

    /// Knows every event, and cannot take e9.
    struct Full;

    impl Inbox for Full {
        fn accept_sqlite(
            &self,
            transaction: &SqliteTransaction<'_>,
            event: &str,
        ) -> Result<bool, BoxError> {
            transaction.execute(ADD, (1000, USER))?;
            if event == "e9" {
                return Err("full".into());
            }
            Ok(false)
        }

        async fn accept_postgres(&self, _: &mut PgConnection, _: &str) -> Result<bool, BoxError> {
            Ok(false)
        }
    }

    #[tokio::test]
    async fn an_event_counts_with_what_the_inbox_wrote_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(folder.path().join("a.db"));
        let mut account = Account::open(&database).await.unwrap();
        assert!(account.apply(&NoInbox, "e1", 10).await.unwrap());
        assert!(account.apply(&NoInbox, "e1", 10).await.unwrap());
        assert_eq!(account.points().await.unwrap(), 20);
        assert!(!account.apply(&Full, "e1", 10).await.unwrap());
        assert_eq!(account.points().await.unwrap(), 1020);
        assert!(account.apply(&Full, "e9", 10).await.is_err());
        assert_eq!(account.points().await.unwrap(), 1020);
        account.clear().await.unwrap();
        assert_eq!(account.points().await.unwrap(), 0);
    }
}
