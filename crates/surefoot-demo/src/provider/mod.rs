//! The payment provider. It does *not* deduplicate: each call that takes effect is a charge. It can be asked by key what
//! became of a call, and it keeps the books that both acts are judged by.
//!
//! `POST /charges` with `{"order": NAME, "cents": N}` charges. `GET /charges/{key}` is its look-up: 200 with the answer of
//! the first charge under that `Idempotency-Key`, or 404.
//!
//! It runs on a thread of its own, so that it keeps its times while the rest of the demo is busy.

mod ledger;
mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::DemoError;
pub(crate) use ledger::Books;
use ledger::Ledger;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whim {
    /// It takes effect and is answered after this time.
    Answer(Duration),
    /// It takes effect, and is answered when nobody waits any more.
    Slow {
        /// When it takes effect, whether or not its caller is still there.
        applies_after: Duration,
        /// When it is answered.
        answers_after: Duration,
    },
    /// The connection is reset before anything happens.
    Reset,
    /// It takes effect, and the connection breaks.
    Drop,
}

/// What becomes of the n-th call (from 1) of an order.
pub(crate) type Manners = Box<dyn Fn(&str, u32) -> Whim + Send + Sync>;

/// A running provider; it stops when this is dropped.
pub(crate) struct Provider {
    address: SocketAddr,
    shared: Shared,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Clone)]
struct Shared {
    ledger: Arc<Mutex<Ledger>>,
    manners: Arc<Manners>,
}

impl Provider {
    /// Starts one on a free port of the loopback.
    pub(crate) fn start(manners: Manners) -> Result<Self, DemoError> {
        let failed = || DemoError::io("start the provider");
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

    /// What its books say at present.
    pub(crate) fn books(&self) -> Books {
        self.shared.ledger().books()
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
