//! `proxy`: the front door before a service in any language, from the arguments to the drain.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use surefoot::NodeClock;
use surefoot_core::id::Worker;
use surefoot_core::port::Store;
use surefoot_core::request::{self, Clocks, RequestPolicy};
use surefoot_http::{
    AskNobody, BearerTenants, Guard, GuardOptions, Need, Proxy, ProxyOptions, Reconcile,
    Reconciler, ReconcilerOptions, RoutePolicy, Routes, SingleTenant, Tenants, TrustedHeader,
    VerifyByUrl,
};
use surefoot_store::Ports;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::database::Place;
use super::signals::Signals;
use crate::args::{Keep, ProxyArgs, Shared};
use crate::exit::{self, Code, Failed};
use crate::output::Output;
use crate::telemetry::{LogOptions, Telemetry};

/// How often the database's clock is read.
const CLOCK_EVERY: Duration = Duration::from_secs(30);
/// The longest that one reading may take.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn run(shared: &Shared, args: &ProxyArgs, output: Output) -> Result<(), Failed> {
    let place = Place::of_database(shared)?;
    let telemetry = Telemetry::start(&LogOptions {
        format: args.log_format.unwrap_or_default(),
        otlp_endpoint: None,
    })?;
    let ports = surefoot_store::open_ports(&place.url).await?;
    let clock = Arc::new(NodeClock::measured(&*ports.store).await?);
    let holder = holder()?;
    let proxy = proxy(args, &ports, &clock, holder.clone())?;
    let reconciler = reconciler(args, &ports, &clock)?;
    proxy.check_listen(args.listen).map_err(unsound)?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        let what = format!("failed to listen on {}: {error}", args.listen);
        Failed::new(Code::Failed, what, "choose another address with --listen")
    })?;
    let address = listener.local_addr()?;
    let mut signals = Signals::listen()?;
    let facts = json!({
        "listen": format!("http://{address}"),
        "upstream": args.upstream.to_string(),
        "database": place.shown(),
        "worker": holder.to_string(),
    });
    output.answer(&facts, || {
        format!(
            "surefoot {} listens on http://{address} before {}\ndatabase  {}",
            env!("CARGO_PKG_VERSION"),
            args.upstream,
            place.shown(),
        )
    })?;

    let stop = CancellationToken::new();
    let serving = tokio::spawn(proxy.serve(listener, stop.clone()));
    let following = tokio::spawn(follow(ports.store.clone(), clock, stop.clone()));
    let reconciling = tokio::spawn({
        let stop = stop.clone();
        async move { reconciler.run(stop).await }
    });
    signals.next().await;
    tracing::info!(
        "stopping: no new requests are taken, running ones may finish; a second signal stops at once"
    );
    tokio::spawn(async move {
        signals.next().await;
        exit::at_once()
    });
    stop.cancel();
    match serving.await {
        Ok(drained) if drained.unknown + drained.cut_off > 0 => tracing::warn!(
            drained.unknown,
            drained.cut_off,
            "stopped with requests whose outcome is unknown"
        ),
        Ok(_) => tracing::info!("stopped"),
        Err(_) => tracing::error!("the proxy broke off"),
    }
    if following.await.is_err() || reconciling.await.is_err() {
        tracing::error!("a task of the proxy broke off");
    }
    telemetry.stop().await;
    Ok(())
}

fn proxy(
    args: &ProxyArgs,
    ports: &Ports,
    clock: &Arc<NodeClock>,
    holder: Worker,
) -> Result<Proxy, Failed> {
    let guard = &args.guard;
    let need = if guard.require_key {
        Need::Required
    } else {
        Need::Optional
    };
    let mut options = GuardOptions::new(holder);
    options.routes = Routes::all(RoutePolicy {
        need,
        request: request_policy(args),
        run_max: RoutePolicy::default().run_max.max(guard.lease),
        wait: guard.wait,
        ..RoutePolicy::default()
    });
    let requests = ports.requests.clone();
    let guarded = Guard::new(requests, clock.clone(), tenants(args)?, options).map_err(unsound)?;
    let options = ProxyOptions {
        upstream_timeout: guard.upstream_timeout,
        connect_timeout: ProxyOptions::default()
            .connect_timeout
            .min(guard.upstream_timeout),
        ..ProxyOptions::default()
    };
    Proxy::new(args.upstream.clone(), guarded, options).map_err(unsound)
}

fn request_policy(args: &ProxyArgs) -> RequestPolicy {
    let guard = &args.guard;
    RequestPolicy {
        clocks: Clocks {
            lease: guard.lease,
            retention: guard.retention,
            tombstone: guard.tombstone,
            settles_within: guard.settles_within,
        },
        keep: match guard.keep {
            Keep::All => request::Keep::All,
            Keep::UnlessNothingHappened => request::Keep::UnlessNothingHappened,
            Keep::Final => request::Keep::Final,
        },
        ..RequestPolicy::default()
    }
}

fn tenants(args: &ProxyArgs) -> Result<Arc<dyn Tenants>, Failed> {
    let args = &args.tenants;
    if let Some(name) = &args.tenant_header {
        return Ok(Arc::new(TrustedHeader {
            name: name.clone(),
            peers: args.trusted_proxy.clone(),
        }));
    }
    if args.tenant_tokens.is_empty() {
        return Ok(Arc::new(SingleTenant(args.tenant.clone())));
    }
    let tokens = args.tenant_tokens.iter();
    let tokens = tokens.map(|(tenant, token)| (token.as_str(), tenant.clone()));
    let bearer = BearerTenants::new(tokens).map_err(unsound)?;
    Ok(Arc::new(bearer))
}

fn reconciler(
    args: &ProxyArgs,
    ports: &Ports,
    clock: &Arc<NodeClock>,
) -> Result<Reconciler, Failed> {
    let options = ReconcilerOptions::default();
    let faults = options.validate(args.guard.settles_within);
    if !faults.is_empty() {
        return Err(Failed::new(Code::Usage, faults.join("; "), ""));
    }
    let hook: Arc<dyn Reconcile> = match &args.guard.verify {
        None => Arc::new(AskNobody),
        Some(uri) => match VerifyByUrl::new(uri.clone(), request_policy(args)) {
            Some(verify) => Arc::new(verify),
            None => {
                let what = format!("--verify {uri} is no http:// address");
                return Err(Failed::new(
                    Code::Usage,
                    what,
                    "write http://HOST:PORT/PATH",
                ));
            }
        },
    };
    Reconciler::new(ports.requests.clone(), clock.clone(), hook, options).map_err(unsound)
}

/// Another name for each start.
fn holder() -> Result<Worker, Failed> {
    Worker::new(format!("proxy-{:016x}", fastrand::u64(..))).map_err(unsound)
}

fn unsound(error: impl std::error::Error) -> Failed {
    Failed::new(Code::Usage, error.to_string(), "see: surefoot proxy --help")
}

/// Keeps the clock with the database's.
async fn follow(store: Arc<dyn Store>, clock: Arc<NodeClock>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(CLOCK_EVERY) => {}
        }
        let asked = Instant::now();
        match tokio::time::timeout(CLOCK_TIMEOUT, store.database_now()).await {
            Ok(Ok(now)) => clock.set(now, asked, Instant::now()),
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the database's clock could not be read"
                );
            }
            Err(_) => tracing::warn!("the database's clock was not read in time"),
        }
    }
}
