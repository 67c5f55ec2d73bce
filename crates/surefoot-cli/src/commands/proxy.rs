//! `proxy`: the front door before a service in any language, from the arguments to the drain.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::json;
use surefoot::{Client, NoObserver, Policies};
use surefoot_server::{Metrics, ServerOptions, check_listen};
use surefoot_store::Ports;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::database::Place;
use super::front_door::{FrontDoor, bound};
use super::signals::Signals;
use crate::args::{ProxyArgs, Shared};
use crate::config::ProxySection;
use crate::exit::{self, Code, Failed};
use crate::output::Output;
use crate::telemetry::{DoorWatch, LogOptions, Telemetry};

/// Where it shows what it does unless something else is said.
pub(super) const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7071);

pub(super) async fn run(shared: &Shared, args: &ProxyArgs, output: Output) -> Result<(), Failed> {
    let place = Place::of_proxy(shared)?;
    let section = args
        .section()
        .over(place.config.proxy.clone().unwrap_or_default());
    let telemetry = Telemetry::start(&LogOptions {
        format: args.log_format.unwrap_or(place.config.telemetry.log_format),
        otlp_endpoint: place.config.telemetry.otlp_endpoint.clone(),
    })?;
    let ports = place.ports().await?;
    let metrics = Arc::new(Metrics::new());
    let watch = Arc::new(DoorWatch::new(metrics.clone()));
    let door = FrontDoor::open(&section, ports.clone(), watch, Code::Usage).await?;
    let admin = admin_listener(&section).await?;
    let admin_address = admin.as_ref().map(TcpListener::local_addr).transpose()?;
    let mut signals = Signals::listen()?;
    let upstream = section.upstream.as_ref().map(ToString::to_string);
    let facts = json!({
        "listen": format!("http://{}", door.address),
        "upstream": upstream,
        "admin": admin_address.map(|address| format!("http://{address}")),
        "database": place.shown(),
        "worker": door.holder.to_string(),
    });
    output.answer(&facts, || {
        let admin =
            admin_address.map_or_else(|| "none".to_owned(), |address| format!("http://{address}"));
        format!(
            "surefoot {} listens on http://{} before {}\ndatabase  {}\nadmin     {admin}",
            env!("CARGO_PKG_VERSION"),
            door.address,
            upstream.unwrap_or_default(),
            place.shown(),
        )
    })?;

    let front_door = Some(door.published.clone());
    let serving = door.start();
    let stop_admin = CancellationToken::new();
    let admin = match admin {
        Some(listener) => {
            let client = client(&ports).await?;
            let options = ServerOptions {
                tokens: section.admin_tokens.clone(),
                front_door,
                ..ServerOptions::new(|| Ok(()))
            };
            let router = surefoot_server::requests_router(
                client,
                ports.requests,
                ports.messages,
                metrics,
                options,
            );
            Some(tokio::spawn(surefoot_server::serve(
                listener,
                router,
                stop_admin.clone(),
            )))
        }
        None => None,
    };
    signals.next().await;
    tracing::info!(
        "stopping: no new requests are taken, running ones may finish; a second signal stops at once"
    );
    tokio::spawn(async move {
        signals.next().await;
        exit::at_once()
    });
    serving.drain().await;
    stop_admin.cancel();
    if let Some(admin) = admin
        && admin.await.is_err()
    {
        tracing::error!("the admin listener broke off");
    }
    tracing::info!("stopped");
    telemetry.stop().await;
    Ok(())
}

/// The listener that shows what the proxy does, apart from the one that clients reach, so that no path of it can be one of
/// the service's. A default address that is taken, as by a second proxy on the host, is done without; one that was chosen is
/// not.
async fn admin_listener(section: &ProxySection) -> Result<Option<TcpListener>, Failed> {
    let Some(address) = section.admin else {
        return Ok(match TcpListener::bind(ADMIN).await {
            Ok(listener) => Some(listener),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "nothing shows what this proxy does, no metrics are served: {ADMIN} is taken; name another address with \
                     --admin, or admin in [proxy]"
                );
                None
            }
        });
    };
    check_listen(address, !section.admin_tokens.is_empty()).map_err(|refused| {
        let hint = "add to [proxy]: admin_tokens = { ops = \"${OPS_TOKEN}\" }, with a token from: openssl rand -hex 24";
        Failed::new(Code::Usage, refused.to_string(), hint)
    })?;
    let hint = "choose another address with --admin, or admin in [proxy]";
    bound(address, hint).await.map(Some)
}

/// What the admin listener reads the gauges of jobs with; it hands in none.
async fn client(ports: &Ports) -> Result<Client, Failed> {
    let policies = Arc::new(Policies::new());
    Ok(Client::connect(ports.store.clone(), policies, Arc::new(NoObserver)).await?)
}
