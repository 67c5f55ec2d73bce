//! The whole service: one file, the engine, the relay, the front door, the customers' port and the operators'.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use surefoot::core::id::{Kind, Worker};
use surefoot::core::time::Clock;
use surefoot::{Engine, EngineOptions, Failure, Job, NodeClock, Relay};
use surefoot_http::{
    Accept, AskNobody, ExtensionTenant, Guard, GuardOptions, Need, ReconcilerOptions, RoutePolicy,
    Routes, TransactionLayer,
};
use surefoot_server::{Metrics, ServerOptions, check_listen};
use surefoot_store::sqlite::{SqliteRequestTransactions, SqliteStore};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::charge::{Till, charge};
use crate::exports::{self, Desk, Export};
use crate::loyalty::{self, Loyalty};
use crate::orders::Orders;
use crate::payments::{self, Checkout};
use crate::provider::Psp;
use crate::recommendations::Recommendations;
use crate::settings::Settings;
use crate::{Fault, catalogue, customers};

/// How long a second click waits for the answer of the first.
const SECOND_CLICK: Duration = Duration::from_secs(2);
/// How often lost workers are looked for: a customer waits.
const SWEEP: Duration = Duration::from_secs(1);
/// How long requests that are under way may take to end when the service stops.
const GRACE: Duration = Duration::from_secs(10);

/// What runs behind the routes.
struct Shop {
    store: Arc<SqliteStore>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    outside: reqwest::Client,
    orders: Orders,
    loyalty: Loyalty,
    relay: Relay,
    engine: Engine,
}

/// Serves until the process is told to stop (SIGTERM), then lets what runs end.
///
/// # Errors
/// A setting that contradicts another, a database or an address that cannot be had.
pub async fn run(settings: Settings) -> Result<(), Fault> {
    check_listen(settings.listen, !settings.customers.is_empty())?;
    check_listen(settings.operators, false)?;
    let shop = Shop::start(&settings).await?;
    let guard = shop.guard()?;
    let customers = shop.customers(&settings, &guard).await?;
    let operators = shop.operators();
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
        let clock: Arc<dyn Clock> = Arc::new(NodeClock::measured(&*store).await?);
        let outside = outside(settings)?;
        let metrics = Arc::new(Metrics::new());
        let orders = Orders::open((*store).clone()).await.map_err(said)?;
        let loyalty = Loyalty::open((*store).clone(), clock.clone())
            .await
            .map_err(said)?;
        let relay = Relay::over(store.clone(), store.clone())
            .sink(loyalty::NAME, Loyalty::topics()?, loyalty.clone())
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

    /// The front door: what is bought or exported carries a key, and a second click gets the answer of the first.
    fn guard(&self) -> Result<Guard, Fault> {
        let mut options = GuardOptions::new(Worker::new(self.engine.worker().as_str())?);
        options.routes = Routes::all(RoutePolicy {
            need: Need::Required,
            wait: SECOND_CLICK,
            ..RoutePolicy::default()
        });
        let (requests, clock) = (self.store.clone(), self.clock.clone());
        Ok(Guard::observed(
            requests,
            clock,
            ExtensionTenant,
            options,
            self.metrics.clone(),
        )?)
    }

    async fn customers(&self, settings: &Settings, guard: &Guard) -> Result<Router, Fault> {
        let client = self.engine.client().clone();
        let hold_max = SqliteRequestTransactions::HOLD_MAX;
        let store = (*self.store).clone();
        let transactions =
            SqliteRequestTransactions::open(store, &settings.database, hold_max).await?;
        let kind = Kind::new(Export::KIND)?;
        let accept = Accept::new(guard.clone(), client.clone(), kind, exports::PATH)?;
        let checkout = Checkout {
            client: client.clone(),
            relay: self.relay.clone(),
            orders: self.orders.clone(),
        };
        let desk = Desk {
            accept: accept.clone(),
            client,
            folder: settings.exports.clone(),
        };
        let recommendations = Recommendations::new(settings, self.outside.clone())?;

        let once = Router::new()
            .route("/payments", post(payments::pay))
            .with_state(checkout.clone())
            .merge(
                Router::new()
                    .route(exports::PATH, post(exports::hand_in))
                    .with_state(desk.clone()),
            )
            .layer(TransactionLayer::new(guard.clone(), transactions));
        let looks = Router::new()
            .route("/payments/{id}", get(payments::look))
            .with_state(checkout)
            .merge(
                Router::new()
                    .route("/exports/{id}/file", get(exports::file))
                    .with_state(desk),
            )
            .merge(
                Router::new()
                    .route("/points", get(loyalty::look))
                    .with_state(self.loyalty.clone()),
            )
            .merge(accept.routes());
        let known = customers::known(&settings.customers)?;
        let pages = Router::new().route("/products/{id}", get(catalogue::page));
        Ok(once
            .merge(looks)
            .layer(from_fn_with_state(known, customers::identify))
            .merge(pages.with_state(recommendations)))
    }

    /// Where dead letters and unknown charges are seen and decided.
    fn operators(&self) -> Router {
        let engine = self.engine.clone();
        let readiness = move || match engine.health().is_ready() {
            true => Ok(()),
            false => Err("the database does not answer, or the service stops".to_owned()),
        };
        let (client, store) = (self.engine.client().clone(), self.store.clone());
        surefoot_server::router(
            client,
            store,
            self.metrics.clone(),
            ServerOptions::new(readiness),
        )
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
