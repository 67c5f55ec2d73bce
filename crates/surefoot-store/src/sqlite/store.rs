//! [`SqliteStore`]: opens the file, starts the writer and the readers, and hands work to them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, Transaction};
use surefoot_core::error::StoreError;
use tokio::sync::oneshot;

use super::connection::{self, Access};
use super::fault::closed;
use super::ledger::Ledger;
use super::mailbox::{Mailbox, Urgency};
use super::operation::Call;
use super::readers::Readers;
use super::schema;
use super::writer::{self, Inbox, OPERATIONS_MAX};

/// Jobs in one SQLite file. Clones share its threads; the last one to go ends them after what was handed in is done.
///
/// Every answer to a write comes after a commit that was flushed to the disk (`synchronous = full`); concurrent writes
/// share a commit. Several stores, in one process or in many, may work on one file of a local disk: a write waits up to
/// 10 seconds for another process and answers [`StoreError::Unavailable`] then.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    inbox: Arc<Inbox>,
    readers: Readers,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.shared.path)
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the file at `path`, makes it when there is none, and brings it to this build's schema.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer build has upgraded the file; [`StoreError::Refused`] when it cannot be
    /// opened or is no database; [`StoreError::Unavailable`] when another process holds it for too long.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let (opened, ready) = oneshot::channel();
        std::thread::Builder::new()
            .name("surefoot-write".to_owned())
            .spawn(move || write_in_this_thread(path, opened))
            .map_err(|error| StoreError::Refused(Box::new(error)))?;
        let shared = ready.await.map_err(|_| closed())??;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Runs `work` on the writer thread, inside a transaction that it shares with other writes and a savepoint of its
    /// own: an error undoes what `work` wrote, and nothing else. This is the quickest way to write rows of one's own
    /// together with jobs ([`enqueue_in`](Self::enqueue_in)), because it shares their commit. `work` must be short, and
    /// must neither commit nor roll back.
    ///
    /// # Errors
    /// The error of `work`; else those of the commit.
    pub async fn write<T, E>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.call("write", 1, Urgency::Ordinary, move |ledger| {
            work(ledger.transaction())
        })
        .await
    }

    /// Runs `work` on a reader thread, on one consistent view of the file and a connection that cannot write: the way to
    /// read rows of one's own. It holds up no writer. `work` must be short; there are few readers.
    ///
    /// # Errors
    /// The error of `work`; else those of the view.
    pub async fn view<T, E>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.readers.read("view", work).await
    }

    pub(super) fn inbox(&self) -> Arc<Inbox> {
        self.shared.inbox.clone()
    }

    /// Runs a verb on the writer thread.
    pub(super) async fn call<T, E>(
        &self,
        name: &'static str,
        weight: usize,
        urgency: Urgency,
        work: impl FnOnce(&Ledger<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        call(&self.shared.inbox, name, weight, urgency, work).await
    }

    /// Runs a verb on a reader thread.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.shared.readers.read(name, work).await
    }

    /// Runs a verb that is one look at one row by its key.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        name: &'static str,
        look: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.shared.readers.look(name, look).await
    }
}

/// Runs a verb on the writer thread that empties this inbox.
pub(super) async fn call<T, E>(
    inbox: &Inbox,
    name: &'static str,
    weight: usize,
    urgency: Urgency,
    work: impl FnOnce(&Ledger<'_>) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (operation, answer) = Call::new(name, weight, work);
    inbox.put(Box::new(operation), urgency).await?;
    answer.await.unwrap_or_else(|_| Err(closed().into()))
}

/// The life of the writer thread. What it hands out closes the inbox when it is dropped, also when nobody waits for it.
fn write_in_this_thread(path: PathBuf, opened: oneshot::Sender<Result<Shared, StoreError>>) {
    let inbox = Arc::new(Mailbox::with_room(OPERATIONS_MAX));
    match prepare(&path) {
        Err(error) => drop(opened.send(Err(error))),
        Ok((connection, readers)) => {
            drop(opened.send(Ok(Shared {
                path,
                inbox: inbox.clone(),
                readers,
            })));
            writer::run(&connection, &inbox);
        }
    }
}

/// Opens and migrates the file. Nothing is changed in a file whose schema is newer.
fn prepare(path: &Path) -> Result<(Connection, Readers), StoreError> {
    let connection = connection::open(path, Access::Write)?;
    schema::version(&connection)?;
    connection::begin_to_write(&connection)?;
    schema::migrate(&connection)?;
    Ok((connection, Readers::start(path)?))
}
