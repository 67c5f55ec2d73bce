//! The whole service: one file, the engine and the relay over it, and its two ports, from their start to their end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use surefoot::{Engine, EngineOptions, Failure, NodeClock, Relay};
use surefoot_http::{AskNobody, ReconcilerOptions};
use surefoot_server::{Metrics, check_listen};
use surefoot_store::sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::charge::{Till, charge};
use crate::loyalty::{self, Loyalty};
use crate::orders::Orders;
use crate::provider::Psp;
use crate::settings::Settings;
use crate::{Fault, doors, exports};

/// How often lost workers are looked for: a customer waits.
const SWEEP: Duration = Duration::from_secs(1);
/// How long requests that are under way may take to end when the service stops.
const GRACE: Duration = Duration::from_secs(10);

/// What runs behind the doors.
pub(crate) struct Shop {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) clock: Arc<NodeClock>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) outside: reqwest::Client,
    pub(crate) orders: Orders,
    pub(crate) loyalty: Loyalty,
    pub(crate) relay: Relay,
    pub(crate) engine: Engine,
}

/// Serves until the process is told to stop (SIGTERM), then lets what runs end.
///
/// # Errors
/// A setting that contradicts another, a database or an address that cannot be had.
pub async fn run(settings: Settings) -> Result<(), Fault> {
    check_listen(settings.listen, !settings.customers.is_empty())?;
    check_listen(settings.operators, false)?;
    let shop = Shop::start(&settings).await?;
    let guard = doors::guard(&shop)?;
    let customers = doors::customers(&shop, &settings, &guard).await?;
    let operators = doors::operators(&shop);
    let (at, behind) = (
        bind(settings.listen).await?,
        bind(settings.operators).await?,
    );
    let facts = serde_json::json!({
        "listen": format!("http://{}", at.local_addr()?),
        "operators": format!("http://{}", behind.local_addr()?),
    });
    println!("{facts}");

    let stop = CancellationToken::new();
    // Nothing of this door is ever unknown, for it is all in transactions; but answers and keys are forgotten in time.
    let reconciler = guard.reconciler(AskNobody, ReconcilerOptions::default())?;
    let stopped = stop.clone();
    let running = [
        tokio::spawn(surefoot_server::serve(at, customers, stop.clone())),
        tokio::spawn(surefoot_server::serve(behind, operators, stop.clone())),
        tokio::spawn(async move { reconciler.run(stopped).await }),
    ];
    signal(SignalKind::terminate())?.recv().await;
    // From the outside inwards: nothing is handed in any more when its worker stops.
    stop.cancel();
    for task in running {
        task.await?;
    }
    guard.drain(GRACE).await;
    shop.engine.drain().await;
    shop.relay.drain().await;
    Ok(())
}

impl Shop {
    async fn start(settings: &Settings) -> Result<Self, Fault> {
        let store = Arc::new(SqliteStore::open(&settings.database).await?);
        let clock = NodeClock::followed(store.clone()).await?;
        let outside = outside(settings)?;
        let metrics = Arc::new(Metrics::new());
        let orders = Orders::open((*store).clone()).await.map_err(said)?;
        let loyalty = Loyalty::open((*store).clone(), clock.clone())
            .await
            .map_err(said)?;
        let relay = Relay::over(store.clone(), store.clone())
            .sink(loyalty::NAME, Loyalty::topics()?, loyalty.clone())
            .observer(metrics.clone())
            .start()
            .await?;
        let till = Till {
            psp: Psp::new(settings, outside.clone())?,
            orders: orders.clone(),
            relay: relay.clone(),
            clock: clock.clone(),
            settings: settings.clone(),
        };
        let (exported, folder) = (orders.clone(), settings.exports.clone());
        let engine = Engine::over(store.clone())
            .handle(
                move |job, cx| charge(job, cx, till.clone()),
                settings.charge_job(),
            )
            .handle(
                move |job, cx| exports::write(job, cx, exported.clone(), folder.clone()),
                settings.export_job(),
            )
            .checklist(settings.checklist()?)
            .observer(metrics.clone())
            .options(EngineOptions {
                sweep: SWEEP,
                ..EngineOptions::default()
            })
            .start()
            .await?;
        Ok(Self {
            store,
            clock,
            metrics,
            outside,
            orders,
            loyalty,
            relay,
            engine,
        })
    }
}

/// A client that leaves time-outs and repetitions to the policies.
fn outside(settings: &Settings) -> Result<reqwest::Client, Fault> {
    // An error says that another part of the program chose before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .connect_timeout(settings.provider_policy().timeout.connect)
        .retry(reqwest::retry::never());
    // Without TLS no certificates are needed, and a machine that has none must do.
    let mut urls = [&settings.provider, &settings.recommendations].into_iter();
    let builder = match urls.all(|url| url.starts_with("http://")) {
        true => builder.tls_certs_only([]),
        false => builder,
    };
    Ok(builder.build()?)
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Fault> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| format!("{address}: {error}").into())
}

fn said(failure: Failure) -> Fault {
    failure.text.as_str().into()
}
