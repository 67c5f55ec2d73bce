//! A relay that runs: woken, asked to append, and drained.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::message::Message;
use surefoot_core::port::{Appended, Messages, Store};
use tokio::sync::{Mutex, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, timeout_at};

use super::builder::RelayBuilder;
use super::options::RelayOptions;
use super::run::{Line, run};
use super::upkeep::Upkeep;
use crate::bounded::within;

/// Delivers the messages of the outbox in this process; cheap to clone. Any number of relays may run over one database: under
/// one key, one of them delivers at a time.
///
/// Dropping the last clone without [`drain`](Self::drain) stops everything in the middle, as a crash would: what was under
/// way is delivered again when its lease ends.
///
/// An order is paid and its event appended in one commit. The loyalty programme is given the event at least once, and adds the
/// points once: the receipt and the points are one commit too. It is given the event a second time here, as after a lost answer.
///
/// ```
/// use std::sync::Arc;
///
/// use surefoot::core::id::{Consumer, MessageId, OrderKey, Source, Tenant, Topic};
/// use surefoot::core::message::{Accepted, Message, Proof, Receipt, Topics};
/// use surefoot::core::payload::Payload;
/// use surefoot::core::time::Clock;
/// use surefoot::{Failure, NodeClock, Relay, Sink};
/// use surefoot_store::sqlite::SqliteStore;
///
/// /// Adds the points of a paid order, once.
/// async fn add_points(store: SqliteStore, clock: Arc<NodeClock>, paid: Message) -> Result<Proof, Failure> {
///     let points: i64 = paid.payload.decode()?;
///     let receipt = Receipt::of(Source::outbox(), &paid, Consumer::new("loyalty")?);
///     store
///         .write(move |tx| match SqliteStore::accept_in(tx, &receipt, clock.now())? {
///             Accepted::First => {
///                 tx.execute("update loyalty set points = points + ?1", [points])?;
///                 Ok(Proof::new("added"))
///             }
///             Accepted::Duplicate { at } => Ok(Proof::new(format!("added before, at {at}"))),
///         })
///         .await
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// #     let folder = tempfile::tempdir()?;
/// #     std::env::set_current_dir(&folder)?;
///     let store = SqliteStore::open("shop.db").await?;
///     let clock = NodeClock::followed(Arc::new(store.clone())).await?;
///     store
///         .write(|tx| -> Result<(), Failure> {
///             tx.execute_batch(
///                 "create table paid (id text primary key); \
///                  create table loyalty (points integer not null); insert into loyalty values (0);",
///             )?;
///             Ok(())
///         })
///         .await
///         .map_err(|failure| failure.text.to_string())?;
///
///     let loyalty = {
///         let (store, clock) = (store.clone(), clock.clone());
///         move |paid: Message| add_points(store.clone(), clock.clone(), paid)
///     };
///     let paid = Topics::named([Topic::new("order.paid")?]);
///     let relay = Relay::over(Arc::new(store.clone()), Arc::new(store.clone()))
///         .sink("loyalty", paid, loyalty.clone())
///         .start()
///         .await?;
///
///     let event = Message {
///         id: MessageId::new("order-17-paid")?,
///         tenant: Tenant::single(),
///         topic: Topic::new("order.paid")?,
///         key: Some(OrderKey::new("order-17")?),
///         payload: Payload::from_serialize(&15)?,
///         trace: None,
///         appended_at: clock.now(),
///     };
///     let appended = event.clone();
///     store
///         .write(move |tx| -> Result<(), Failure> {
///             tx.execute("insert into paid values ('order-17')", ())?;
///             SqliteStore::append_in(tx, &[appended])?;
///             Ok(())
///         })
///         .await
///         .map_err(|failure| failure.text.to_string())?;
///     relay.wake();
///
/// #     use surefoot::core::port::Messages;
/// #     while store.message_depth().await?[0].oldest.is_some() {
/// #         tokio::time::sleep(std::time::Duration::from_millis(5)).await;
/// #     }
///     // Once more, as after an answer that was lost.
///     loyalty.deliver(event).await.map_err(|failure| failure.text.to_string())?;
///     relay.drain().await;
///     let points = store
///         .write(|tx| -> Result<i64, Failure> {
///             Ok(tx.query_row("select points from loyalty", (), |row| row.get(0))?)
///         })
///         .await
///         .map_err(|failure| failure.text.to_string())?;
///     assert_eq!(points, 15);
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Relay {
    inner: Arc<Inner>,
}

struct Inner {
    messages: Arc<dyn Messages>,
    options: RelayOptions,
    /// One for each sink: they are woken in one order, so that a seed replays a relay.
    wakes: Vec<watch::Sender<u64>>,
    draining: watch::Sender<bool>,
    loops: Mutex<Vec<JoinHandle<()>>>,
    aborts: Vec<AbortHandle>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Inner {
    fn abort(&self) {
        for task in &self.aborts {
            task.abort();
        }
    }
}

/// What a drain left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayDrained {
    /// Sinks with deliveries that did not end within the grace: they are delivered again when their leases end.
    pub abandoned: usize,
}

impl Relay {
    /// A relay over the two ports of one database, to be told its sinks. It goes by the clock of the first.
    #[must_use]
    pub fn over(store: Arc<dyn Store>, messages: Arc<dyn Messages>) -> RelayBuilder {
        RelayBuilder::over(store, messages)
    }

    pub(super) fn launch(
        messages: Arc<dyn Messages>,
        options: RelayOptions,
        lines: Vec<Arc<Line>>,
        upkeep: Upkeep,
        wakes: Vec<watch::Sender<u64>>,
        draining: watch::Sender<bool>,
    ) -> Self {
        let loops: Vec<_> = lines
            .into_iter()
            .map(|line| tokio::spawn(run(line)))
            .collect();
        let mut aborts: Vec<_> = loops.iter().map(JoinHandle::abort_handle).collect();
        aborts.push(tokio::spawn(upkeep.run()).abort_handle());
        Self {
            inner: Arc::new(Inner {
                messages,
                options,
                wakes,
                draining,
                loops: Mutex::new(loops),
                aborts,
            }),
        }
    }

    /// Says that there may be something to deliver: after the commit of a transaction that appended. Without it, the next
    /// poll finds it.
    pub fn wake(&self) {
        for wakes in &self.inner.wakes {
            wakes.send_modify(|wakes| *wakes = wakes.wrapping_add(1));
        }
    }

    /// Appends messages in a transaction of their own, and delivers them at once. Where rows of the same database belong to
    /// them, append in their transaction instead (`append_in` of the stores), and [`wake`](Self::wake) after its commit.
    ///
    /// # Errors
    /// As [`Messages::append`]; after [`StoreError::Unavailable`], repeat the call with the same messages.
    pub async fn append(&self, messages: &[Message]) -> Result<Vec<Appended>, StoreError> {
        let appending = self.inner.messages.append(messages);
        let appended = within(self.inner.options.store_timeout, appending).await?;
        self.wake();
        Ok(appended)
    }

    /// Takes nothing more, lets the deliveries that are under way end within the grace, gives back the rest, and ends the
    /// loops. A further call waits for the same end, and answers that nothing was left.
    pub async fn drain(&self) -> RelayDrained {
        self.inner.draining.send_replace(true);
        let until = Instant::now() + self.inner.options.drain_grace;
        let mut loops = self.inner.loops.lock().await;
        let mut drained = RelayDrained::default();
        for mut task in loops.drain(..) {
            if timeout_at(
                until.max(Instant::now() + Duration::from_millis(1)),
                &mut task,
            )
            .await
            .is_err()
            {
                drained.abandoned += 1;
            }
        }
        self.inner.abort();
        drained
    }
}
