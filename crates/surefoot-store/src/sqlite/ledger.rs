//! A write transaction as the verbs see it: cached statements, errors of the port, and the counters that go with the
//! transaction. It never begins or commits: whoever made it does.

use std::cell::RefCell;

use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Kind, Queue};
use surefoot_core::job::StateName;

use super::fault::store_error;
use super::tally::Tally;

/// A transaction to write in.
pub(super) struct Ledger<'t> {
    transaction: &'t Transaction<'t>,
    tally: RefCell<Tally>,
}

impl<'t> Ledger<'t> {
    /// The ledger of a write transaction.
    pub(super) fn of(transaction: &'t Transaction<'t>) -> Self {
        Self {
            transaction,
            tally: RefCell::default(),
        }
    }

    /// What changed in the counters since; it must be written before the commit.
    pub(super) fn into_tally(self) -> Tally {
        self.tally.into_inner()
    }

    /// The transaction.
    pub(super) const fn transaction(&self) -> &'t Transaction<'t> {
        self.transaction
    }

    /// Its connection.
    pub(super) fn connection(&self) -> &'t Connection {
        self.transaction
    }

    /// Runs a statement; answers how many rows it changed.
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .map_err(store_error)
    }

    /// Runs a statement that must change exactly one row.
    pub(super) fn execute_one(&self, sql: &str, params: impl Params) -> Result<(), StoreError> {
        match self.execute(sql, params)? {
            1 => Ok(()),
            changed => Err(StoreError::Broken(format!(
                "a statement changed {changed} rows where there is exactly one: {}",
                sql.lines().next().unwrap_or_default()
            ))),
        }
    }

    /// The first row that a statement answers with.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        first(self.transaction, sql, params, read)
    }

    /// All rows that a statement answers with; the statement bounds them.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        rows(self.transaction, sql, params, read)
    }

    /// A job went from one state to another; `None` is outside the table of jobs.
    pub(super) fn moved(
        &self,
        queue: &Queue,
        kind: &Kind,
        from: Option<StateName>,
        to: Option<StateName>,
    ) {
        self.tally.borrow_mut().moved(queue, kind, from, to);
    }
}

/// The first row that a statement answers with.
pub(super) fn first<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
    statement
        .query_row(params, |row| Ok(read(row)))
        .optional()
        .map_err(store_error)?
        .transpose()
}

/// All rows that a statement answers with; the statement bounds them.
pub(super) fn rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
    let mut found = statement.query(params).map_err(store_error)?;
    let mut all = Vec::new();
    while let Some(row) = found.next().map_err(store_error)? {
        all.push(read(row)?);
    }
    Ok(all)
}
