//! Migrations: numbered, each applied once, all in one transaction that begins with the write lock, so that several
//! processes may start at once. A schema newer than this build is never touched.

use rusqlite::{Connection, Transaction, TransactionBehavior};
use surefoot_core::error::StoreError;

use super::fault::store_error;
use super::ledger::first;

/// The migrations in order; the first one makes schema 1. What was released is never changed, only added to.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_jobs.sql"),
    include_str!("migrations/0002_requests.sql"),
    include_str!("migrations/0003_messages.sql"),
    include_str!("migrations/0004_departures.sql"),
];

const NEWER: &str = "another build of Surefoot has upgraded it; run that build or a newer one";

statements! {
    HAS_VERSIONS = "-- migrate: whether there is a schema
        select 1 from sqlite_schema where type = 'table' and name = 'surefoot_schema'";
    CREATE_VERSIONS = "-- migrate: the table of applied migrations
        create table if not exists surefoot_schema (
            version integer primary key,
            applied_at integer not null
        ) strict";
    VERSION = "-- migrate: the version of the schema
        select coalesce(max(version), 0) from surefoot_schema";
    APPLIED = "-- migrate: a migration was applied
        insert into surefoot_schema (version, applied_at)
        values (?1, cast(unixepoch('subsec') * 1000000 as integer))";
}

/// The newest version this build knows.
fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The version of the schema in the file, 0 when there is none.
///
/// # Errors
/// [`StoreError::Schema`] when it is newer than this build.
pub(super) fn version(connection: &Connection) -> Result<i64, StoreError> {
    if first(connection, HAS_VERSIONS, (), |_| Ok(()))?.is_none() {
        return Ok(0);
    }
    let found = connection
        .query_row(VERSION, (), |row| row.get(0))
        .map_err(store_error)?;
    if found > known() {
        return Err(StoreError::Schema {
            found,
            known: known(),
            remedy: NEWER,
        });
    }
    Ok(found)
}

/// Brings the file to the newest schema this build knows; does nothing, and takes no lock, when it is there already.
///
/// # Errors
/// [`StoreError::Schema`] when the schema in the file is newer.
pub(super) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    if version(connection)? == known() {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(store_error)?;
    // Another process may have migrated before this one had the lock.
    let found = version(&transaction)?;
    transaction
        .execute_batch(CREATE_VERSIONS)
        .map_err(store_error)?;
    for (version, migration) in (1_i64..).zip(MIGRATIONS) {
        if version > found {
            transaction.execute_batch(migration).map_err(store_error)?;
            transaction
                .execute(APPLIED, [version])
                .map_err(store_error)?;
        }
    }
    transaction.commit().map_err(store_error)
}
