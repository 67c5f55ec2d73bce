//! `serve`: one node with its engine and the HTTP API, from the configuration to the drain.

use std::net::SocketAddr;
use std::sync::Arc;

use surefoot::Engine;
use surefoot_core::port::Store;
use surefoot_server::{Metrics, ServerOptions, check_listen};
use surefoot_store::Ports;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::check::faults;
use super::cleanup;
use super::database::Place;
use super::explain::explained;
use super::front_door::FrontDoor;
use super::review::reviewed;
use super::signals::Signals;
use super::welcome::{facts, welcome};
use crate::args::{ServeArgs, Shared};
use crate::exit::{self, Code, Failed};
use crate::http_kind::{Clients, HttpKind, LiveDependencies};
use crate::output::Output;
use crate::telemetry::{DoorWatch, LogOptions, NodeObserver, Telemetry, export_messages};

/// Where the API listens unless something else is said.
pub(super) const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7070);

pub(super) async fn run(shared: &Shared, args: &ServeArgs, output: Output) -> Result<(), Failed> {
    let place = Place::new(shared)?;
    let telemetry = Telemetry::start(&LogOptions {
        format: args.log_format.unwrap_or(place.config.telemetry.log_format),
        otlp_endpoint: place.config.telemetry.otlp_endpoint.clone(),
    })?;
    tell_policies(&place, args.explain);
    tell_faults(&place);
    let listener = listen(
        args.listen.or(place.config.server.listen).unwrap_or(LISTEN),
        &place,
    )
    .await?;
    let address = listener.local_addr()?;
    let metrics = Arc::new(Metrics::new());
    export_messages(&metrics);
    let live = LiveDependencies::new(&place.config.dependencies)
        .map_err(|refused| Failed::new(Code::Configuration, refused.to_string(), ""))?;
    let ports = place.ports().await?;
    let engine = start_engine(&place, ports.store.clone(), Arc::clone(&metrics), &live).await?;
    let door = open_door(&place, &ports, &metrics).await?;
    let mut signals = Signals::listen()?;
    let door_address = door.as_ref().map(|door| door.address);
    output.answer(&facts(&place, address, door_address, &engine), || {
        welcome(&place, address, door_address)
    })?;

    let shutdown = CancellationToken::new();
    let router = surefoot_server::router(
        engine.client().clone(),
        ports.requests.clone(),
        ports.messages.clone(),
        metrics,
        server_options(&place, &engine, live, door.as_ref()),
    );
    let server = tokio::spawn(surefoot_server::serve(listener, router, shutdown.clone()));
    let door = door.map(FrontDoor::start);
    // A front door cleans up by itself.
    let cleaning = door.is_none().then(|| {
        let client = engine.client().clone();
        let now = move || client.now();
        tokio::spawn(cleanup::run(ports.requests, now, shutdown.clone()))
    });
    signals.next().await;
    tracing::info!(
        "stopping: no new jobs are claimed, running ones may finish; a second signal stops at once"
    );
    tokio::spawn(async move {
        signals.next().await;
        exit::at_once()
    });

    // The API goes on until the engine and the front door have drained, so that pull workers can report and the service
    // behind the door can hand in jobs.
    let close = async {
        if let Some(door) = door {
            door.drain().await;
        }
    };
    let (drained, ()) = tokio::join!(engine.drain(), close);
    shutdown.cancel();
    if let Some(cleaning) = cleaning
        && cleaning.await.is_err()
    {
        tracing::error!("the cleanup of requests broke off");
    }
    if server.await.is_err() {
        tracing::error!("the HTTP API broke off");
    }
    if drained.abandoned + drained.unsettled > 0 {
        tracing::warn!(
            drained.abandoned,
            drained.unsettled,
            "stopped with attempts whose leases have to lapse"
        );
    } else {
        tracing::info!("stopped");
    }
    telemetry.stop().await;
    Ok(())
}

/// What is odd about a policy is always told, the whole of it on demand.
fn tell_policies(place: &Place, whole: bool) {
    for explained in explained(place) {
        if whole {
            tracing::info!("{}", explained.text());
            continue;
        }
        for warning in &explained.warnings {
            tracing::warn!(dependency = explained.dependency, "{warning}");
        }
    }
}

/// Faults of the checklist stop nothing: an engine that does not start would lose more.
fn tell_faults(place: &Place) {
    let standing = reviewed(place).standing();
    if standing > 0 {
        tracing::warn!(
            "the configuration has {} that nobody accepted; see: surefoot check",
            faults(standing)
        );
    }
}

/// Whether the configured tokens allow to listen there.
///
/// # Errors
/// An address of others without a token.
pub(super) fn may_listen(address: SocketAddr, place: &Place) -> Result<(), Failed> {
    check_listen(address, !place.config.server.tokens.is_empty()).map_err(|refused| {
        Failed::new(
            Code::Configuration,
            refused.to_string(),
            "add to surefoot.toml: [server] tokens = { ops = \"${OPS_TOKEN}\" }, with a token from: openssl rand -hex 24",
        )
    })
}

async fn listen(address: SocketAddr, place: &Place) -> Result<TcpListener, Failed> {
    may_listen(address, place)?;
    TcpListener::bind(address).await.map_err(|error| {
        let hint = "another surefoot may be running; choose another address with --listen";
        Failed::new(
            Code::Failed,
            format!("failed to listen on {address}: {error}"),
            hint,
        )
    })
}

/// The front door that `[proxy]` asks for, if it does.
async fn open_door(
    place: &Place,
    ports: &Ports,
    metrics: &Arc<Metrics>,
) -> Result<Option<FrontDoor>, Failed> {
    let Some(section) = &place.config.proxy else {
        return Ok(None);
    };
    let watch = Arc::new(DoorWatch::new(Arc::clone(metrics)));
    FrontDoor::open(section, ports.clone(), watch, Code::Configuration)
        .await
        .map(Some)
}

async fn start_engine(
    place: &Place,
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    live: &LiveDependencies,
) -> Result<Engine, Failed> {
    let mut builder = Engine::over(store)
        .options(place.config.engine.options())
        .observer(Arc::new(NodeObserver::new(metrics)));
    let mut clients = Clients::default();
    for (kind, declared) in &place.config.kinds {
        let policy = declared.policy.clone();
        let request = declared.request.as_ref();
        let called = request.and_then(|request| {
            let live = live.named(request.dependency.name.as_str())?;
            Some((request, live.clone()))
        });
        builder = match called {
            Some((request, live)) => {
                let client = clients.client(&request.dependency, &request.recovery)?;
                let handler = HttpKind::new(client, live, request.clone());
                builder.handler(kind.clone(), policy, Arc::new(handler))
            }
            None => builder.declare(kind.clone(), policy),
        };
    }
    Ok(builder.start().await?)
}

fn server_options(
    place: &Place,
    engine: &Engine,
    live: LiveDependencies,
    door: Option<&FrontDoor>,
) -> ServerOptions {
    let engine = engine.clone();
    let readiness = move || {
        let health = engine.health();
        if health.is_ready() {
            Ok(())
        } else if health.draining {
            Err("this node is stopping".to_owned())
        } else {
            Err("the database does not answer".to_owned())
        }
    };
    ServerOptions {
        tokens: place.config.server.tokens.clone(),
        hosts: place.config.server.hosts.clone(),
        dependencies: Arc::new(live),
        front_door: door.map(|door| door.published.clone()),
        ..ServerOptions::new(readiness)
    }
}
