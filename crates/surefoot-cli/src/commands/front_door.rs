//! The front door as it runs: built from what the configuration and the command line say, served until a signal, drained at
//! the end. `proxy` runs it alone, `serve` beside the API.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use surefoot::NodeClock;
use surefoot_core::id::Worker;
use surefoot_core::time::Clock;
use surefoot_http::{DoorObserver, Guard, Proxy, Reconciler};
use surefoot_store::Ports;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::cleanup;
use super::descriptors;
use super::verification::ByRoute;
use crate::config::ProxySection;
use crate::exit::{Code, Failed};

/// A front door that listens and does not serve yet.
pub(super) struct FrontDoor {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Its name on the requests that it runs.
    pub(super) holder: Worker,
    /// What its clients must know, for those who ask at the admin listener or the API.
    pub(super) published: Value,
    listener: TcpListener,
    proxy: Proxy,
    reconciler: Reconciler,
    clock: Arc<NodeClock>,
    ports: Ports,
}

/// A front door that serves.
pub(super) struct Serving {
    stop: CancellationToken,
    proxy: JoinHandle<surefoot_http::ProxyDrained>,
    others: Vec<JoinHandle<()>>,
}

impl FrontDoor {
    /// Binds its address and puts it together; `observer` sees what happens. Faults end with `code`.
    ///
    /// # Errors
    /// What contradicts itself, an address that is taken, or what the database answered.
    pub(super) async fn open(
        section: &ProxySection,
        ports: Ports,
        observer: Arc<dyn DoorObserver>,
        code: Code,
    ) -> Result<Self, Failed> {
        let unsound = |error: &dyn std::error::Error| unsound(error, code);
        let faults = section.faults();
        if !faults.is_empty() {
            return Err(Failed::new(code, faults.join("; "), HINT));
        }
        let Some(upstream) = section.upstream.clone() else {
            return Err(Failed::new(
                code,
                "it is not known which service to stand in front of",
                "give --upstream http://HOST:PORT, or upstream in [proxy] of surefoot.toml",
            ));
        };
        let clock = NodeClock::followed(ports.store.clone()).await?;
        let name = format!("proxy-{:016x}", fastrand::u64(..));
        let holder = Worker::new(name).map_err(|error| unsound(&error))?;
        let tenants = section.tenants.clone().unwrap_or_default();
        let guard = Guard::observed(
            ports.requests.clone(),
            clock.clone(),
            tenants.tenants().map_err(|error| unsound(&error))?,
            section.guard_options(holder.clone()),
            observer,
        )
        .map_err(|error| unsound(&error))?;
        let hook = ByRoute::new(section)
            .map_err(|text| Failed::new(code, text, "write http://HOST:PORT/PATH"))?;
        let reconciler = guard
            .reconciler(hook, section.reconciler_options())
            .map_err(|error| unsound(&error))?;
        let published = guard.published();
        let options = descriptors::bounded(section.proxy_options());
        let proxy = Proxy::new(upstream, guard, options).map_err(|error| unsound(&error))?;
        let listen = section.address();
        proxy
            .check_listen(listen)
            .map_err(|error| unsound(&error))?;
        let listener = bound(
            listen,
            "choose another address with --listen, or listen in [proxy]",
        )
        .await?;
        Ok(Self {
            address: listener.local_addr()?,
            holder,
            published,
            listener,
            proxy,
            reconciler,
            clock,
            ports,
        })
    }

    /// Serves from here on.
    pub(super) fn start(self) -> Serving {
        let stop = CancellationToken::new();
        let Self {
            listener,
            proxy,
            reconciler,
            clock,
            ports,
            ..
        } = self;
        let cleaning = cleanup::run(ports.requests, move || clock.now(), stop.clone());
        let reconciling = {
            let stop = stop.clone();
            async move { reconciler.run(stop).await }
        };
        Serving {
            proxy: tokio::spawn(proxy.serve(listener, stop.clone())),
            others: vec![tokio::spawn(cleaning), tokio::spawn(reconciling)],
            stop,
        }
    }
}

impl Serving {
    /// Takes no new requests and waits until those under way are written down, within the grace.
    pub(super) async fn drain(self) {
        self.stop.cancel();
        match self.proxy.await {
            Ok(drained) if drained.unknown + drained.cut_off > 0 => tracing::warn!(
                drained.unknown,
                drained.cut_off,
                "stopped with requests whose outcome is unknown"
            ),
            Ok(_) => tracing::info!("the front door is closed"),
            Err(_) => tracing::error!("the proxy broke off"),
        }
        for other in self.others {
            if other.await.is_err() {
                tracing::error!("a task of the front door broke off");
            }
        }
    }
}

/// Whether it may listen where it is told to: strangers are told apart, or none are let in.
///
/// # Errors
/// An address that other machines reach.
pub(super) fn may_listen(section: &ProxySection, code: Code) -> Result<(), Failed> {
    let tenants = section.tenants.clone().unwrap_or_default();
    let tenants = tenants.tenants().map_err(|error| unsound(&error, code))?;
    let address = section.address();
    if tenants.is_verified() || address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(unsound(&surefoot_http::ProxyRefused::Listen(address), code))
}

/// A listener at an address.
///
/// # Errors
/// What the operating system answered, with a hint.
pub(super) async fn bound(address: SocketAddr, hint: &str) -> Result<TcpListener, Failed> {
    TcpListener::bind(address).await.map_err(|error| {
        let what = format!("failed to listen on {address}: {error}");
        Failed::new(Code::Failed, what, hint)
    })
}

/// What to do about a contradiction of the arguments.
const HINT: &str = "see: surefoot proxy --help, and [proxy] in docs/configuration.md";

fn unsound(error: &dyn std::error::Error, code: Code) -> Failed {
    Failed::new(code, error.to_string(), HINT)
}
