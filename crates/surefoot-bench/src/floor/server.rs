//! Databases of a PostgreSQL server that are made for one measurement, and what the server says of itself.

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::Outcome;

const VERSION: &str = "-- server: what it is
    select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')";

/// What the figures stand for.
pub(crate) async fn described(options: &PgConnectOptions) -> Outcome<String> {
    let mut connection = PgConnection::connect_with(options).await?;
    let row = sqlx::query(VERSION).fetch_one(&mut connection).await?;
    let [version, fsync, synchronous]: [String; 3] =
        [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
    connection.close().await?;
    Ok(format!(
        "postgres {version}, fsync = {fsync}, synchronous_commit = {synchronous}"
    ))
}

/// Makes an empty database; answers its name.
pub(crate) async fn create_database(options: &PgConnectOptions) -> Outcome<String> {
    let name = format!("surefoot_bench_{:016x}", fastrand::u64(..));
    run(options, format!("create database {name}")).await?;
    Ok(name)
}

/// Removes a database, whoever is still connected to it.
pub(crate) async fn drop_database(options: &PgConnectOptions, name: &str) -> Outcome<()> {
    run(
        options,
        format!("drop database if exists {name} with (force)"),
    )
    .await
}

async fn run(options: &PgConnectOptions, statement: String) -> Outcome<()> {
    let mut connection = PgConnection::connect_with(options).await?;
    sqlx::query(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    Ok(())
}
