//! Migrations: once, by whoever comes first, and never backwards.

use sqlx::{AssertSqlSafe, Connection, Row};
use surefoot_core::error::StoreError;
use surefoot_core::port::Store;
use surefoot_store::postgres::{PostgresOptions, PostgresStore, sqlx};

use super::fixture::{START, connection, job, scratch, url};

/// The newest version of this build.
const NEWEST: i64 = 5;

async fn scalar(sql: String) -> i64 {
    let row = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_one(&mut connection().await)
        .await
        .unwrap();
    row.get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_start_at_once_migrate_once() {
    let options = scratch();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let options = options.clone();
            tokio::spawn(async move {
                let store = PostgresStore::open_with(options).await.unwrap();
                store.enqueue(&[job("mail")], START).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let schema = &options.schema;
    assert_eq!(
        scalar(format!("select count(*) from {schema}.migration")).await,
        NEWEST
    );
    assert_eq!(
        scalar(format!("select count(*) from {schema}.job")).await,
        8
    );
    PostgresStore::open_with(options.clone()).await.unwrap();
    assert_eq!(
        scalar(format!("select count(*) from {schema}.migration")).await,
        NEWEST,
        "a second start changes nothing"
    );
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_was() {
    let options = scratch();
    PostgresStore::open_with(options.clone()).await.unwrap();
    let sql = format!(
        "insert into {}.migration (version, name) values (1000, 'from the future')",
        options.schema
    );
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection().await)
        .await
        .unwrap();
    let refused = PostgresStore::open_with(options.clone()).await.unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::Schema {
                found: 1000,
                known: NEWEST,
                ..
            }
        ),
        "an older build keeps its hands off: {refused:?}"
    );
    assert_eq!(
        scalar(format!(
            "select max(version) from {}.migration",
            options.schema
        ))
        .await,
        1000
    );
}

#[tokio::test]
async fn a_migration_waits_for_no_session() {
    let options = scratch();
    // A session that holds the same lock at session level, as a migrator behind a pooler would have left it.
    let mut other = connection().await;
    let sql = format!(
        "select pg_advisory_lock(1398096456, hashtext('{}'))",
        options.schema
    );
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut other)
        .await
        .unwrap();
    let refused = PostgresStore::open_with(options.clone()).await.unwrap_err();
    assert!(
        refused.is_transient(),
        "it gives up in bounded time and may try again: {refused:?}"
    );
    other.close().await.unwrap();
    PostgresStore::open_with(options).await.unwrap();
}

#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let name = format!("surefoot_latin_{}", std::process::id());
    let mut admin = connection().await;
    let make = format!("create database {name} encoding 'LATIN1' locale 'C' template template0");
    sqlx::raw_sql(AssertSqlSafe(make))
        .execute(&mut admin)
        .await
        .unwrap();
    let (base, _) = url()
        .rsplit_once('/')
        .map(|(base, rest)| (base.to_owned(), rest.to_owned()))
        .unwrap();
    let refused = PostgresStore::open(&format!("{base}/{name}"))
        .await
        .unwrap_err();
    let drop = format!("drop database {name} with (force)");
    sqlx::raw_sql(AssertSqlSafe(drop))
        .execute(&mut admin)
        .await
        .unwrap();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
}

#[tokio::test]
async fn wrong_options_are_refused_before_anything_is_touched() {
    let options = PostgresOptions {
        schema: "a; drop schema public".to_owned(),
        ..scratch()
    };
    let refused = PostgresStore::open_with(options).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
}
