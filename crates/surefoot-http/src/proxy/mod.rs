//! The guard as a reverse proxy, for services in any language. What carries no key streams through both ways; what carries
//! one runs once. It speaks HTTP/1.1 to both sides, passes on no upgrade and opens no tunnel.
//!
//! An upstream that does not answer in time may have done its work: that is an unknown outcome here, never a failure. Only
//! an upstream that could not be connected to has surely done nothing.

mod connect;
mod forward;
mod headers;
mod serve;
mod verify;

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use http::{Method, Request, Response, Uri};

use crate::guard::Guard;
use crate::problem::{Problem, TUNNEL_REFUSED};
use forward::Upstream;

pub use serve::ProxyDrained;
pub use verify::VerifyByUrl;

/// How a proxy is set up.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// How long connecting to the upstream may take. Default 3 s.
    pub connect_timeout: Duration,
    /// How long the upstream may take to begin its answer. Default 60 s; the caller's deadline counts where it is sooner.
    pub upstream_timeout: Duration,
    /// How long an unused connection to the upstream is kept; below what the upstream keeps, for a request that meets a
    /// connection that is being closed may have an unknown outcome. Default 3 s.
    pub idle_max: Duration,
    /// How long a client may take to send the head of a request, and how long its connection may be idle. Default 30 s.
    pub head_timeout: Duration,
    /// How long a client may leave what was written to it unread. Default 30 s.
    pub write_timeout: Duration,
    /// How many connections of clients are open at once; further ones wait. Default 4096.
    pub connections_max: usize,
    /// How long requests may go on after the proxy was told to stop. Default 30 s.
    pub grace: Duration,
}

/// A proxy that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyRefused {
    /// The upstream is no address of a service.
    #[error(
        "the upstream {0} is not usable; write http://HOST:PORT, without a path: TLS is not spoken to an upstream"
    )]
    Upstream(Uri),
    /// Other machines would be served without telling them apart.
    #[error(
        "{0} can be reached from other machines and tenants are not told apart: anybody could read the answers of others; \
         name tokens or a trusted header, or listen on 127.0.0.1:{port}",
        port = .0.port()
    )]
    Listen(SocketAddr),
    /// The options contradict themselves.
    #[error("the proxy contradicts itself: {}", .0.join("; "))]
    Options(Vec<String>),
}

/// A guard in front of a service.
#[derive(Clone, Debug)]
pub struct Proxy {
    guard: Guard,
    upstream: Upstream,
    options: ProxyOptions,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(3),
            upstream_timeout: Duration::from_secs(60),
            idle_max: Duration::from_secs(3),
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            connections_max: 4096,
            grace: Duration::from_secs(30),
        }
    }
}

impl ProxyOptions {
    /// Every contradiction, each with its remedy; empty when there is none.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let times = [
            ("connect_timeout", self.connect_timeout),
            ("upstream_timeout", self.upstream_timeout),
            ("head_timeout", self.head_timeout),
            ("write_timeout", self.write_timeout),
        ];
        for (name, _) in times.into_iter().filter(|(_, time)| time.is_zero()) {
            faults.push(format!(
                "{name} is 0, so nothing could be served; set 1s or more"
            ));
        }
        if self.connect_timeout > self.upstream_timeout {
            faults.push(format!(
                "connecting may take {:?} and the whole answer {:?}; lower connect_timeout",
                self.connect_timeout, self.upstream_timeout
            ));
        }
        if self.connections_max == 0 {
            faults
                .push("connections_max is 0, so nothing could be served; set 1 or more".to_owned());
        }
        faults
    }
}

impl Proxy {
    /// A proxy in front of the service at `upstream`, such as `http://127.0.0.1:3000`.
    ///
    /// # Errors
    /// An upstream that is no such address, or options that contradict themselves.
    pub fn new(upstream: Uri, guard: Guard, options: ProxyOptions) -> Result<Self, ProxyRefused> {
        let faults = options.validate();
        if !faults.is_empty() {
            return Err(ProxyRefused::Options(faults));
        }
        Ok(Self {
            upstream: Upstream::new(upstream, &options, guard.problems().clone())?,
            guard,
            options,
        })
    }

    /// Whether it may listen there: on a loopback address always, on any other only where tenants are told apart.
    ///
    /// # Errors
    /// [`ProxyRefused::Listen`].
    pub fn check_listen(&self, addr: SocketAddr) -> Result<(), ProxyRefused> {
        if self.guard.is_verified() || addr.ip().to_canonical().is_loopback() {
            Ok(())
        } else {
            Err(ProxyRefused::Listen(addr))
        }
    }

    /// Serves one request. `CONNECT` is refused: a tunnel would pass by the guard.
    pub async fn handle(&self, request: Request<Body>) -> Response<Body> {
        if request.method() == Method::CONNECT {
            let refused =
                "this is a proxy before one service; send requests to it, and not through it";
            return Problem::new(&TUNNEL_REFUSED, refused).response(self.guard.problems(), None);
        }
        let upstream = self.upstream.clone();
        let served = self.guard.handle(request, move |request| async move {
            Ok::<_, std::convert::Infallible>(upstream.forward(request).await)
        });
        match served.await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
