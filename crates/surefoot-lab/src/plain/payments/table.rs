//! The payments of the service, under a unique constraint on the key: it refuses the second row, after the second charge.
//! The statements stand here and not in the store, because they are the contestant's.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};
use serde_json::{Value, json};
use sqlx::{PgPool, Row as _};

use crate::error::LabError;
use crate::place::Database;

/// How long to wait for another connection that writes.
const BUSY_MAX: Duration = Duration::from_secs(10);
const PRAGMAS: &str = "pragma journal_mode = wal; pragma synchronous = full;";
const CREATE_SQLITE: &str = "-- plain: the payments
    create table if not exists payment (
        id integer primary key autoincrement,
        idempotency_key text not null unique,
        charge_id integer not null
    ) strict";
const CREATE_POSTGRES: &str = "-- plain: the payments
    create table if not exists payment (
        id bigint generated always as identity primary key,
        idempotency_key text not null constraint payment_idem unique,
        charge_id bigint not null
    )";
const FIND: &str = "-- plain: is it there
    select id, charge_id from payment where idempotency_key = $1";
const INSERT: &str = "-- plain: write it down
    insert into payment (idempotency_key, charge_id) values ($1, $2) returning id";

/// The table.
#[derive(Clone)]
pub(super) enum Payments {
    Sqlite(Arc<Mutex<Connection>>),
    Postgres(PgPool),
}

impl Payments {
    /// Opens the database, and makes the table when it is not there.
    pub(super) async fn open(database: &Database) -> Result<Self, LabError> {
        match database {
            Database::Sqlite(file) => open_sqlite(file)
                .map(|connection| Self::Sqlite(Arc::new(Mutex::new(connection))))
                .map_err(LabError::database("open the payments")),
            Database::Postgres(url) => open_postgres(url)
                .await
                .map(Self::Postgres)
                .map_err(LabError::database("open the payments")),
        }
    }

    /// The payment under a key.
    pub(super) async fn find(&self, key: &str) -> Result<Option<Value>, LabError> {
        let found = |(id, charge): (i64, i64)| payment(id, key, charge);
        match self {
            Self::Sqlite(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                let row = connection
                    .query_row(FIND, [key], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
                    .map_err(LabError::database("look for a payment"))?;
                Ok(row.map(found))
            }
            Self::Postgres(pool) => {
                let row = sqlx::query(FIND).bind(key).fetch_optional(pool).await;
                let row = row.map_err(LabError::database("look for a payment"))?;
                Ok(row.map(|row| found((row.get(0), row.get(1)))))
            }
        }
    }

    /// Writes a payment down; the error is what the database said.
    pub(super) async fn insert(&self, key: &str, charge: i64) -> Result<Value, String> {
        let id = match self {
            Self::Sqlite(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                connection
                    .query_row(INSERT, (key, charge), |row| row.get(0))
                    .map_err(|error| error.to_string())?
            }
            Self::Postgres(pool) => {
                let insert = sqlx::query(INSERT).bind(key).bind(charge);
                let row = insert.fetch_one(pool).await;
                row.map_err(|error| error.to_string())?.get(0)
            }
        };
        Ok(payment(id, key, charge))
    }
}

fn payment(id: i64, key: &str, charge: i64) -> Value {
    json!({ "id": id, "idempotency_key": key, "charge_id": charge })
}

fn open_sqlite(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_MAX)?;
    connection.execute_batch(PRAGMAS)?;
    connection.execute_batch(CREATE_SQLITE)?;
    Ok(connection)
}

async fn open_postgres(url: &str) -> Result<PgPool, sqlx::Error> {
    let pool = PgPool::connect(url).await?;
    sqlx::query(CREATE_POSTGRES).execute(&pool).await?;
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_constraint_refuses_the_second_row_of_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(folder.path().join("p.db"));
        let payments = Payments::open(&database).await.unwrap();
        assert_eq!(payments.find("k").await.unwrap(), None);
        let made = payments.insert("k", 7).await.unwrap();
        assert_eq!(made, payment(1, "k", 7));
        assert_eq!(payments.find("k").await.unwrap(), Some(made));
        let refused = payments.insert("k", 8).await.unwrap_err();
        assert!(refused.contains("UNIQUE"), "{refused}");
    }
}
