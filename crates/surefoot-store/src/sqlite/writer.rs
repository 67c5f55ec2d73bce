//! The writer thread: takes what waits, runs each operation inside a savepoint of its own, commits once, then answers
//! them all. It must never answer before the commit, and an operation that fails or panics never spoils another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use surefoot_core::error::StoreError;

use super::fault::store_error;
use super::ledger::Ledger;
use super::mailbox::{Letter, Mailbox, Patience};
use super::operation::Operation;
use super::tally::Tally;

/// How many operations wait or run at once; further callers wait for room.
pub(super) const OPERATIONS_MAX: usize = 1024;

/// About how many rows one commit holds before the next begins, which bounds how long a heartbeat waits.
const GROUP_WEIGHT_MAX: usize = 2000;

/// A commit costs a flush of the disk, however much is in it. So that callers who were answered just now are in the next
/// one together, it waits for about as many as there were lately, for a quarter of the time that a commit took lately,
/// and no longer than this. A caller that is alone does not wait.
const PATIENCE_SHARE: u32 = 4;
const PATIENCE_MAX: Duration = Duration::from_millis(1);

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
    let mut patience = Patience::default();
    while let Some(mut group) =
        inbox.take(GROUP_WEIGHT_MAX, patience, |operation| operation.weight())
    {
        let begun = Instant::now();
        let committed = commit(connection, &mut group);
        if let Err(error) = &committed {
            tracing::warn!(operations = group.len(), %error, "a group of operations was not committed");
        }
        patience = next_patience(patience, group.len(), begun.elapsed());
        for letter in group {
            letter.content.answer(committed.as_ref().copied());
        }
    }
}

/// How long to wait before the commit after this one. What was larger before fades away, a quarter with each commit.
fn next_patience(before: Patience, letters: usize, took: Duration) -> Patience {
    Patience {
        letters: letters.max(before.letters * 3 / 4),
        time: (took / PATIENCE_SHARE)
            .max(before.time * 3 / 4)
            .min(PATIENCE_MAX),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_fades_until_a_caller_that_is_alone_does_not_wait() {
        let commit = Duration::from_millis(2);
        let mut patience = next_patience(Patience::default(), 64, commit);
        assert_eq!(
            (patience.letters, patience.time),
            (64, Duration::from_micros(500))
        );
        let mut commits = 0;
        while patience.letters > 1 {
            patience = next_patience(patience, 1, commit);
            commits += 1;
        }
        assert!(commits < 16, "{commits}");
        let slow = next_patience(patience, 3, Duration::from_secs(1));
        assert_eq!((slow.letters, slow.time), (3, PATIENCE_MAX));
    }
}
