//! The checkout: `POST /payments` with `{"order": NAME, "cents": N}` and an `Idempotency-Key`. As act one and as act two
//! have it, in a process of its own that can be killed at any moment and started again over the same folder.
//!
//! `GET /standing` is what the live view shows of it.

mod guarded;
mod plain;

use std::io::Read;
use std::path::PathBuf;

use axum::Router;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::act::Act;
use crate::error::DemoError;

/// What a checkout is made of.
#[derive(Clone, Debug)]
pub struct CheckoutOptions {
    /// Which act it belongs to.
    pub act: Act,
    /// The provider's URL.
    pub provider: String,
    /// Where it keeps what it knows.
    pub folder: PathBuf,
}

/// An order, as the customer's page sends it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) order: String,
    pub(crate) cents: u64,
}

/// What the live view shows of a checkout.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// What the breaker towards the provider does; `None` without one.
    pub(crate) breaker: Option<String>,
    /// How many payments wait or run.
    pub(crate) queue: u64,
    /// How many of them are asked about.
    pub(crate) verifying: u64,
}

impl CheckoutOptions {
    /// The arguments of the program that starts it, in the order of the fields.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        vec![
            self.act.name().to_owned(),
            self.provider.clone(),
            self.folder.display().to_string(),
        ]
    }
}

/// Serves on a free port of the loopback until standard input ends, which is when whoever started it is gone. `ready` is
/// told where it listens.
///
/// # Errors
/// What kept it from serving.
pub async fn serve(
    options: CheckoutOptions,
    ready: impl FnOnce(&str) -> std::io::Result<()>,
) -> Result<(), DemoError> {
    let app: Router = match options.act {
        Act::Plain => plain::app(&options)?,
        Act::Guarded => guarded::app(&options).await?,
    };
    let failed = || DemoError::io("listen on the loopback");
    let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(failed())?;
    let address = listener.local_addr().map_err(failed())?;
    ready(&format!("http://{address}")).map_err(DemoError::io("say where it listens"))?;
    let orphaned = tokio::task::spawn_blocking(|| {
        // Nothing is ever written there; the end or an error says that nobody holds the other side.
        let _ = std::io::stdin().read(&mut [0]);
    });
    tokio::select! {
        served = axum::serve(listener, app) => served.map_err(failed()),
        _ = orphaned => Ok(()),
    }
}
