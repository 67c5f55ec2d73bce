//! Requests in transactions that a handler holds: claim, business rows and answer are one commit. A thread with a connection
//! of its own holds the one transaction that can write; a twin in this process is told at once, before it waits for that.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use surefoot_core::error::StoreError;
use surefoot_core::port::{Committed, Opened, RequestTransactions, RequestWritten, Requests as _};
use surefoot_core::request::{Arrived, Identity, NewRequest, RETRY_AFTER_MIN, Request, arrive};
use surefoot_core::time::Timestamp;
use tokio::sync::{mpsc, oneshot};

use super::connection::{self, Access};
use super::fault::{closed, store_error};
use super::schema;
use super::store::SqliteStore;

/// How many arrivals wait for their transaction; further ones wait for room.
const WAITING_MAX: usize = 1024;

/// Opens transactions for the requests of a [`SqliteStore`] on the same file.
///
/// SQLite has one writer: while a handler holds its transaction nothing else is written to the file, no heartbeat either. It
/// is for handlers that write rows and end; one that holds its transaction for longer than the limit is rolled back.
///
/// A twin that comes to the same process is told at once that it is running. One that comes to another process waits for the
/// writer, and is answered then.
#[derive(Clone)]
pub struct SqliteRequestTransactions {
    store: SqliteStore,
    arrivals: mpsc::Sender<Arrival>,
    open: Arc<Mutex<HashSet<Identity>>>,
}

/// An open transaction, on a thread of its own. Dropped, it is rolled back.
#[derive(Debug)]
pub struct SqliteTransaction {
    orders: Sender<Order>,
}

struct Arrival {
    new: NewRequest,
    now: Timestamp,
    turn: Turn,
    reply: oneshot::Sender<Result<Opened<SqliteTransaction>, StoreError>>,
}

/// That a key is at work here.
struct Turn {
    open: Arc<Mutex<HashSet<Identity>>>,
    identity: Identity,
}

type Work = Box<dyn FnOnce(&Transaction<'_>) + Send>;

enum Order {
    Run(Work),
    Commit(Box<Request>, oneshot::Sender<Committed>),
    RollBack(oneshot::Sender<()>),
}

impl std::fmt::Debug for SqliteRequestTransactions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteRequestTransactions")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl SqliteRequestTransactions {
    /// How long a handler may hold its transaction where nothing else is said: half of the patience of other writers.
    pub const HOLD_MAX: Duration = Duration::from_secs(5);

    /// Transactions on the file at `path`, which is the one of `store`. A transaction that is held for longer than `hold_max`
    /// is rolled back; other writers wait for at most 10 seconds ([`Self::HOLD_MAX`] is below that).
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub async fn open(
        store: SqliteStore,
        path: impl Into<PathBuf>,
        hold_max: Duration,
    ) -> Result<Self, StoreError> {
        let path = path.into();
        let (opened, ready) = oneshot::channel();
        let (arrivals, waiting) = mpsc::channel(WAITING_MAX);
        std::thread::Builder::new()
            .name("surefoot-hold".to_owned())
            .spawn(move || hold_in_this_thread(&path, hold_max, opened, waiting))
            .map_err(|error| StoreError::Refused(Box::new(error)))?;
        ready.await.map_err(|_| closed())??;
        Ok(Self {
            store,
            arrivals,
            open: Arc::default(),
        })
    }

    /// The turn of a key; `None` while it is at work here.
    fn turn(&self, identity: &Identity) -> Option<Turn> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(identity.clone()).then(|| Turn {
            open: self.open.clone(),
            identity: identity.clone(),
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.identity);
    }
}

impl SqliteTransaction {
    /// Runs `work` in the transaction, on the thread that holds it. An error undoes nothing by itself: a handler that does
    /// not commit is rolled back. `work` must neither commit nor roll back.
    ///
    /// # Errors
    /// The error of `work`; [`StoreError::Unavailable`] when the transaction was rolled back: because it was held for too long,
    /// or because `work` panicked or ended it.
    pub async fn run<T, E>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let work: Work = Box::new(move |transaction| drop(reply.send(work(transaction))));
        self.orders
            .send(Order::Run(work))
            .map_err(|_| rolled_back())?;
        answer.await.unwrap_or_else(|_| Err(rolled_back().into()))
    }
}

#[async_trait]
impl RequestTransactions for SqliteRequestTransactions {
    type Transaction = SqliteTransaction;

    async fn open(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Opened<SqliteTransaction>, StoreError> {
        // What does not run is answered without the writer; what may run is decided there again.
        if let Some(known) = self.store.request(&new.identity).await? {
            match arrive(Some(&known), new, now) {
                Arrived::Run(_) => {}
                answer @ (Arrived::Replay { .. }
                | Arrived::NotKept { .. }
                | Arrived::Gone { .. }
                | Arrived::Mismatch { .. }
                | Arrived::Running { .. }
                | Arrived::UnknownOutcome { .. }) => return Ok(Opened::Known(answer)),
            }
        }
        let Some(turn) = self.turn(&new.identity) else {
            return Ok(Opened::Known(Arrived::Running {
                retry_after: RETRY_AFTER_MIN,
            }));
        };
        let (reply, answer) = oneshot::channel();
        let arrival = Arrival {
            new: new.clone(),
            now,
            turn,
            reply,
        };
        self.arrivals.send(arrival).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    async fn commit(&self, transaction: SqliteTransaction, request: &Request) -> Committed {
        let (reply, answer) = oneshot::channel();
        let order = Order::Commit(Box::new(request.clone()), reply);
        if transaction.orders.send(order).is_err() {
            return Committed::No(rolled_back());
        }
        answer
            .await
            .unwrap_or_else(|_| Committed::No(rolled_back()))
    }

    async fn roll_back(&self, transaction: SqliteTransaction) {
        let (reply, answer) = oneshot::channel();
        if transaction.orders.send(Order::RollBack(reply)).is_ok() {
            // Nobody answers when the thread rolled back by itself.
            let _ = answer.await;
        }
    }
}

fn rolled_back() -> StoreError {
    StoreError::Unavailable("the transaction was rolled back".into())
}

/// The life of the thread: one transaction after the other.
fn hold_in_this_thread(
    path: &Path,
    hold_max: Duration,
    opened: oneshot::Sender<Result<(), StoreError>>,
    mut waiting: mpsc::Receiver<Arrival>,
) {
    let connection = match connect(path) {
        Ok(connection) => connection,
        Err(error) => return drop(opened.send(Err(error))),
    };
    drop(opened.send(Ok(())));
    while let Some(arrival) = waiting.blocking_recv() {
        serve(&connection, hold_max, arrival);
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = connection::open(path, Access::Write)?;
    schema::version(&connection)?;
    connection::begin_to_write(&connection)?;
    schema::migrate(&connection)?;
    Ok(connection)
}

/// One arrival, from its claim to the end of its transaction.
fn serve(connection: &Connection, hold_max: Duration, arrival: Arrival) {
    let Arrival {
        new,
        now,
        turn,
        reply,
    } = arrival;
    if reply.is_closed() {
        return;
    }
    let _span = tracing::debug_span!("transaction", name = "request").entered();
    let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(store_error)
        .and_then(|transaction| {
            let arrived = SqliteStore::begin_in(&transaction, &new, now)?;
            Ok((transaction, arrived))
        });
    match begun {
        Ok((transaction, Arrived::Run(request))) => {
            let (orders, given) = channel();
            let opened = Opened::Run {
                request,
                transaction: SqliteTransaction { orders },
            };
            // Whoever asked may have gone; then the orders end at once.
            let _ = reply.send(Ok(opened));
            obey(transaction, &given, hold_max, turn);
        }
        Ok((transaction, known)) => {
            drop(transaction);
            let _ = reply.send(Ok(Opened::Known(known)));
        }
        Err(error) => {
            let _ = reply.send(Err(error));
        }
    }
}

/// Does what the holder of a transaction says, until it ends. However this returns, the transaction is over. Who is told so
/// finds the key free, so the turn goes first.
fn obey(transaction: Transaction<'_>, orders: &Receiver<Order>, hold_max: Duration, turn: Turn) {
    let until = Instant::now() + hold_max;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match orders.recv_timeout(left) {
            Ok(Order::Run(work)) => {
                let ran = catch_unwind(AssertUnwindSafe(|| work(&transaction)));
                if ran.is_err() || transaction.is_autocommit() {
                    tracing::error!(
                        "work in a request's transaction panicked or ended it; it is rolled back"
                    );
                    return;
                }
            }
            Ok(Order::Commit(request, reply)) => {
                let committed = commit(transaction, &request);
                drop(turn);
                // What was committed stands, whoever waits for it.
                let _ = reply.send(committed);
                return;
            }
            Ok(Order::RollBack(reply)) => {
                drop(transaction);
                drop(turn);
                let _ = reply.send(());
                return;
            }
            Err(RecvTimeoutError::Timeout) => {
                tracing::error!(
                    ?hold_max,
                    "a request's transaction was held for too long; it is rolled back"
                );
                return;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn commit(transaction: Transaction<'_>, request: &Request) -> Committed {
    match SqliteStore::finish_in(&transaction, request) {
        Ok(RequestWritten::Applied) => {}
        Ok(RequestWritten::Already | RequestWritten::Changed(_)) => {
            return Committed::No(StoreError::Broken(format!(
                "request {} was written by somebody else in its own transaction",
                request.id
            )));
        }
        Err(error) => return Committed::No(error),
    }
    match transaction.commit().map_err(store_error) {
        Ok(()) => Committed::Yes,
        // What was not flushed may be there after all.
        Err(error) => Committed::Unknown(error),
    }
}
