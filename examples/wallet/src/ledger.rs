//! Wallets and their journal, in the same file as the jobs. A movement is one transaction, and the constraints of its tables
//! say the same as its code: an id once, no balance below zero.

use std::sync::Arc;

use serde::Serialize;
use surefoot::{Cx, Failure, Outcome};
use surefoot_store::sqlite::SqliteStore;
use surefoot_store::sqlite::rusqlite::{Connection, OptionalExtension, Row, Transaction};

use crate::movement::{Moved, Movement};

const TABLES: &str = "
    create table if not exists wallet (
        name text primary key,
        cents integer not null check (cents >= 0)
    ) strict;
    create table if not exists journal (
        number integer primary key autoincrement,
        transaction_id text not null unique,
        wallet text not null references wallet (name),
        cents integer not null,
        cents_after integer not null
    ) strict";

/// The most entries that one look at a journal answers with.
const ENTRIES_MAX: u32 = 1000;

/// One line of a journal: money that was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// By which transaction.
    pub transaction: String,
    /// Into the wallet; negative is out of it.
    pub cents: i64,
    /// What was in the wallet after it.
    pub balance_cents: i64,
}

/// The rows; cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<SqliteStore>);

impl Ledger {
    /// The ledger in the file of a store; its tables are made when they are not there.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn open(store: Arc<SqliteStore>) -> Outcome<Self> {
        let made = |tx: &Transaction<'_>| Ok::<_, Failure>(tx.execute_batch(TABLES)?);
        store.write(made).await?;
        Ok(Self(store))
    }

    /// Moves the money, writes the journal and ends the job, in one commit. A worker whose lease is lost changes nothing:
    /// `settle_in` refuses, and the balance goes back with it.
    ///
    /// # Errors
    /// What the database answered; nothing was moved then.
    pub async fn post(&self, movement: Movement, cx: Cx) -> Outcome<Moved> {
        let posted = move |tx: &Transaction<'_>| {
            let moved = moved(tx, &movement)?;
            SqliteStore::settle_in(tx, &cx.settlement(&moved)?)?;
            Ok(moved)
        };
        self.0.write(posted).await
    }

    /// What is in a wallet; nothing in one that nobody ever paid into.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn balance(&self, wallet: String) -> Outcome<i64> {
        let look = move |view: &Connection| balance(view, &wallet);
        self.0.view(look).await
    }

    /// What was moved in and out of a wallet, the earliest first.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn journal(&self, wallet: String) -> Outcome<Vec<Entry>> {
        let look = move |view: &Connection| {
            let mut select = view.prepare(
                "select transaction_id, cents, cents_after from journal where wallet = ?1 order by number limit ?2",
            )?;
            let read = |row: &Row<'_>| {
                Ok(Entry {
                    transaction: row.get(0)?,
                    cents: row.get(1)?,
                    balance_cents: row.get(2)?,
                })
            };
            let entries: Result<Vec<Entry>, _> =
                select.query_map((wallet, ENTRIES_MAX), read)?.collect();
            Ok(entries?)
        };
        self.0.view(look).await
    }
}

/// Decides and writes. It neither commits nor rolls back.
fn moved(tx: &Transaction<'_>, movement: &Movement) -> Outcome<Moved> {
    let Movement {
        transaction,
        wallet,
        cents,
    } = movement;
    let before = balance(tx, wallet)?;
    let after = before.checked_add(*cents);
    let after = after.ok_or_else(|| Failure::permanent("more than a wallet can hold"))?;
    if after < 0 {
        return Ok(Moved::InsufficientFunds {
            balance_cents: before,
        });
    }
    tx.execute(
        "insert into wallet (name, cents) values (?1, ?2) on conflict (name) do update set cents = excluded.cents",
        (wallet, after),
    )?;
    tx.execute(
        "insert into journal (transaction_id, wallet, cents, cents_after) values (?1, ?2, ?3, ?4)",
        (transaction, wallet, cents, after),
    )?;
    Ok(Moved::Done {
        balance_cents: after,
    })
}

fn balance(connection: &Connection, wallet: &str) -> Outcome<i64> {
    let select = "select cents from wallet where name = ?1";
    let cents = connection.query_row(select, [wallet], |row| row.get(0));
    Ok(cents.optional()?.unwrap_or(0))
}
