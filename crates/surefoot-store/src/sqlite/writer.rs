//! The writer thread: takes what waits, runs each operation inside a savepoint of its own, commits once, then answers
//! them all. It must never answer before the commit, and an operation that fails or panics never spoils another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use surefoot_core::error::StoreError;

use super::fault::store_error;
use super::ledger::Ledger;
use super::mailbox::{Letter, Mailbox};
use super::operation::Operation;
use super::tally::Tally;

/// How many operations wait or run at once; further callers wait for room.
pub(super) const OPERATIONS_MAX: usize = 1024;

/// About how many rows one commit holds before the next begins, which bounds how long a heartbeat waits.
const GROUP_WEIGHT_MAX: usize = 2000;

statements! {
    SAVE = "-- writer: begin an operation
        savepoint surefoot_operation";
    KEEP = "-- writer: keep an operation
        release surefoot_operation";
    UNDO = "-- writer: undo an operation
        rollback to surefoot_operation";
}

/// What the writer is sent.
pub(super) type Inbox = Mailbox<Box<dyn Operation>>;

type Group = Vec<Letter<Box<dyn Operation>>>;

/// Works until the inbox is closed and empty.
pub(super) fn run(connection: &Connection, inbox: &Arc<Inbox>) {
    /// However this thread ends, nobody may wait for it.
    struct Guard<'a>(&'a Inbox);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.abandon();
        }
    }
    let _guard = Guard(inbox);
    while let Some(mut group) = inbox.take(GROUP_WEIGHT_MAX, |operation| operation.weight()) {
        let committed = commit(connection, &mut group);
        if let Err(error) = &committed {
            tracing::warn!(operations = group.len(), %error, "a group of operations was not committed");
        }
        for letter in group {
            letter.content.answer(committed.as_ref().copied());
        }
    }
}

/// Runs a group in one transaction.
fn commit(connection: &Connection, group: &mut Group) -> Result<(), StoreError> {
    let span = tracing::debug_span!("transaction", name = "group", operations = group.len());
    let _entered = span.entered();
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(store_error)?;
    let mut tally = Tally::default();
    for letter in group.iter_mut() {
        let operation = &mut letter.content;
        if operation.is_wanted() {
            run_one(&transaction, operation.as_mut(), &mut tally)?;
        }
    }
    tally.write(&transaction)?;
    transaction.commit().map_err(store_error)
}

/// Runs one operation. An error here means that the transaction itself is gone.
fn run_one(
    transaction: &Transaction<'_>,
    operation: &mut dyn Operation,
    tally: &mut Tally,
) -> Result<(), StoreError> {
    let _span = tracing::debug_span!("transaction", name = operation.name()).entered();
    statement(transaction, SAVE)?;
    let ledger = Ledger::of(transaction);
    let kept = catch_unwind(AssertUnwindSafe(|| operation.run(&ledger))).unwrap_or_else(|_| {
        tracing::error!(
            transaction = operation.name(),
            "an operation panicked; it is undone"
        );
        false
    });
    if transaction.is_autocommit() {
        // SQLite ends the whole transaction by itself after some errors, such as a full disk.
        return Err(StoreError::Unavailable(
            format!("the transaction ended during {}", operation.name()).into(),
        ));
    }
    if kept {
        tally.absorb(ledger.into_tally());
    } else {
        statement(transaction, UNDO)?;
    }
    statement(transaction, KEEP)
}

fn statement(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(()))
        .map(|_| ())
        .map_err(store_error)
}
