//! Threads that read, each on a connection that cannot write, so that a long look never holds up the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use surefoot_core::error::StoreError;
use tokio::sync::oneshot;

use super::connection::{self, Access};
use super::fault::{closed, store_error};
use super::glance::Glances;
use super::mailbox::{Mailbox, Patience, Urgency};

/// How many threads read.
const READERS: usize = 3;

/// How many reads wait or run at once; further callers wait for room.
const READS_MAX: usize = 256;

type Read = Box<dyn FnOnce(&Connection) + Send>;

/// The reading side of a store.
pub(super) struct Readers {
    inbox: Arc<Mailbox<Read>>,
    glances: Glances,
}

impl Readers {
    /// Opens the connections and starts their threads.
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let readers = Self {
            inbox: Arc::new(Mailbox::with_room(READS_MAX)),
            glances: Glances::open(path)?,
        };
        for number in 1..=READERS {
            let connection = connection::open(path, Access::Read)?;
            let inbox = readers.inbox.clone();
            std::thread::Builder::new()
                .name(format!("surefoot-read-{number}"))
                .spawn(move || run(&connection, &inbox))
                .map_err(|error| StoreError::Refused(Box::new(error)))?;
        }
        Ok(readers)
    }

    /// Runs `work` on one consistent view of the file.
    pub(super) async fn read<T, E>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let read: Read = Box::new(move |connection| {
            if !reply.is_closed() {
                let _span = tracing::debug_span!("transaction", name).entered();
                // Whoever asked may have gone; there is nothing to undo.
                let _ = reply.send(in_one_view(connection, work));
            }
        });
        self.inbox.put(read, Urgency::Ordinary).await?;
        answer.await.unwrap_or_else(|_| Err(closed().into()))
    }

    /// Runs `look`, a single statement that reads one row by its key: at once where that holds nobody up, else on a reader.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        name: &'static str,
        look: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let at_once =
            tracing::debug_span!("transaction", name).in_scope(|| self.glances.at_once(&look));
        match at_once {
            Some(seen) => seen,
            None => self.read(name, look).await,
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

fn run(connection: &Connection, inbox: &Mailbox<Read>) {
    while let Some(reads) = inbox.take(1, Patience::default(), |_| 1) {
        for letter in reads {
            if catch_unwind(AssertUnwindSafe(|| (letter.content)(connection))).is_err() {
                tracing::error!("a read panicked");
            }
        }
    }
}

fn in_one_view<T, E: From<StoreError>>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let view = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)
        .map_err(store_error)?;
    let found = work(&view)?;
    view.commit().map_err(store_error)?;
    Ok(found)
}
