//! [`ScriptedProvider`]: a real HTTP service on the loopback that misbehaves as told and counts what it did. It is
//! what stands for the payment, mail or grading service in a test; it never listens beyond the loopback.

mod act;
mod ledger;
mod server;
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::watch;

pub use act::{Act, Answer};
use ledger::Ledger;
pub use ledger::{Received, Report, Seen};

/// An HTTP service for tests: a call of any method but GET, at any path, applies one effect under its
/// `Idempotency-Key`, unless the script or the dice say otherwise.
///
/// It deduplicates: a second call under a key applies nothing and gets the first answer, until
/// [`deduplicates`](Self::deduplicates) turns that off. A call without a key always applies. `GET /applied/{key}`
/// tells how often a key was called and applied; `GET /effects/{key}` is the look-up that a provider may offer: 200
/// with the answer of the effect, or 404. `GET /outcome` with an `Idempotency-Key` is what `surefoot proxy --verify` asks:
/// the answer says in `surefoot-outcome` whether there is an effect. Looking up counts as no call.
///
/// It counts per key without a limit, so it lives as long as one test. When it is dropped it stops: calls that hang
/// end, and connections that are still open are reset at their next call.
#[derive(Debug)]
pub struct ScriptedProvider {
    address: SocketAddr,
    shared: Shared,
    closing: watch::Sender<bool>,
}

/// What the provider and its connections share.
#[derive(Clone, Debug)]
struct Shared {
    ledger: Arc<Mutex<Ledger>>,
    closing: watch::Receiver<bool>,
}

impl ScriptedProvider {
    /// A provider on a free port of the loopback. It runs on the runtime that calls this.
    ///
    /// # Errors
    /// The port could not be had.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (closing, closed) = watch::channel(false);
        let shared = Shared {
            ledger: Arc::default(),
            closing: closed,
        };
        tokio::spawn(server::serve(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            closing,
        })
    }

    /// Where it listens, such as `http://127.0.0.1:40123`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether a second call under the same key applies nothing. It does at first.
    pub fn deduplicates(&self, deduplicates: bool) {
        self.ledger().deduplicates = deduplicates;
    }

    /// Whether it can say at `GET /outcome` what became of a call. It can at first; else that answers 503.
    pub fn witnesses(&self, witnesses: bool) {
        self.ledger().witnesses = witnesses;
    }

    /// What the next calls meet, one after the other, after what was scripted before.
    pub fn script(&self, acts: impl IntoIterator<Item = Act>) {
        self.ledger().script.extend(acts);
    }

    /// What the next calls under this key meet. It goes before [`script`](Self::script).
    pub fn script_for(&self, key: &str, acts: impl IntoIterator<Item = Act>) {
        self.ledger()
            .scripts_for
            .entry(key.to_owned())
            .or_default()
            .extend(acts);
    }

    /// What calls without a script meet, each with its chance from 0 to 1; the rest is applied. The same seed and
    /// the same order of calls give the same acts.
    pub fn misbehave(&self, seed: u64, chances: impl IntoIterator<Item = (f64, Act)>) {
        self.ledger().misbehave(seed, chances.into_iter().collect());
    }

    /// How often a call under this key took effect.
    #[must_use]
    pub fn applied(&self, key: &str) -> u64 {
        self.ledger().seen(key).applied
    }

    /// How many calls came, whatever became of them.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.ledger().calls
    }

    /// What came and what took effect, by key.
    #[must_use]
    pub fn report(&self) -> Report {
        self.ledger().report()
    }

    /// The calls as they came, the oldest first; the latest [`Received::KEPT_MAX`].
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.ledger().received.iter().cloned().collect()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.shared.ledger()
    }
}

impl Drop for ScriptedProvider {
    fn drop(&mut self) {
        self.closing.send_replace(true);
    }
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the provider is dropped.
    async fn closed(&self) {
        let mut closing = self.closing.clone();
        // An error means that the provider is gone, which is what is waited for.
        let _ = closing.wait_for(|closing| *closing).await;
    }
}
