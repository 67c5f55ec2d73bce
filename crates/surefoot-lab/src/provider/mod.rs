//! The provider: a payment service that does *not* deduplicate. Each call that arrives whole takes effect, whatever becomes
//! of its answer. It keeps the books that everything is measured by.
//!
//! `POST /refunds` with `{"intent": NAME, "amount": N}` refunds. `GET /refunds/{key}` is its look-up: 200 with the answer of
//! the first refund under that `Idempotency-Key`, or 404. `POST /charges` charges alike, and has no look-up.
//!
//! It runs on a thread of its own, so that it keeps up with what it promises (a call takes effect when it arrives) while
//! the rest of the lab is busy.

mod ledger;
mod server;
mod whim;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use crate::error::LabError;
pub(crate) use ledger::Books;
use ledger::Ledger;
pub(crate) use whim::{Manners, Whim};

/// A running provider; it stops when this is dropped.
pub(crate) struct Provider {
    address: SocketAddr,
    shared: Shared,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// What the provider and its connections share.
#[derive(Clone)]
struct Shared {
    ledger: Arc<Mutex<Ledger>>,
    manners: Arc<Manners>,
    /// Whether answers that are held are let go.
    released: watch::Sender<bool>,
}

impl Provider {
    /// Starts one on a free port of the loopback.
    pub(crate) fn start(manners: Manners) -> Result<Self, LabError> {
        let failed = || LabError::io("start the provider");
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed())?;
        listener.set_nonblocking(true).map_err(failed())?;
        let address = listener.local_addr().map_err(failed())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed())?;
        let shared = Shared {
            ledger: Arc::default(),
            manners: Arc::new(manners),
            released: watch::Sender::new(false),
        };
        let (stop, stopped) = oneshot::channel();
        let served = shared.clone();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = server::serve(listener, served) => {}
                    // An error says that the handle is gone, which is as good.
                    _ = stopped => {}
                }
            });
        });
        Ok(Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets all answers go that are held, and holds no more.
    pub(crate) fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// What its books say at present.
    pub(crate) fn books(&self) -> Books {
        self.shared.ledger().books()
    }

    /// How many intents it has seen a call of.
    pub(crate) fn intents_seen(&self) -> usize {
        self.shared.ledger().intents_seen()
    }
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error says that it has ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
