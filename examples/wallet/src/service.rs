//! The whole service: the engine over its file, and the callers' port.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use surefoot::{Engine, EngineOptions};
use surefoot_store::sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::Fault;
use crate::ledger::Ledger;
use crate::movement::{carry_out, checklist, policy};
use crate::routes::{Counter, routes};

/// How often lost workers are looked for: a movement takes milliseconds, and its caller waits.
const SWEEP: Duration = Duration::from_secs(1);

/// Serves until the process is told to stop (SIGTERM), then lets what runs end. `WALLET_DATABASE` is the SQLite file,
/// `wallet.db` by default, `WALLET_LISTEN` the address, 127.0.0.1:8080 by default.
///
/// # Errors
/// A database or an address that cannot be had.
pub async fn run() -> Result<(), Fault> {
    let setting = |name, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let database = PathBuf::from(setting("WALLET_DATABASE", "wallet.db"));
    let address: SocketAddr = setting("WALLET_LISTEN", "127.0.0.1:8080").parse()?;

    let store = Arc::new(SqliteStore::open(database).await?);
    let ledger = Ledger::open(Arc::clone(&store)).await;
    let ledger = ledger.map_err(|failure| failure.text.to_string())?;
    let posted = ledger.clone();
    let engine = Engine::over(store)
        .handle(
            move |movement, cx| carry_out(movement, cx, posted.clone()),
            policy(),
        )
        .checklist(checklist()?)
        .options(EngineOptions {
            sweep: SWEEP,
            ..EngineOptions::default()
        })
        .start()
        .await?;

    let listener = TcpListener::bind(address).await?;
    let facts = serde_json::json!({ "listen": format!("http://{}", listener.local_addr()?) });
    println!("{facts}");
    let counter = Counter {
        client: engine.client().clone(),
        ledger,
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        terminate.recv().await;
    };
    axum::serve(listener, routes(counter))
        .with_graceful_shutdown(stop)
        .await?;
    engine.drain().await;
    Ok(())
}
