//! How a server is set up: plain data with documented defaults.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use surefoot::Relay;

use crate::dependency::{Dependencies, NoDependencies};
use crate::token::Token;

/// How a server is set up.
#[derive(Clone)]
pub struct ServerOptions {
    /// Who may use the API. Empty, as by default: everybody who reaches the server, which then listens on loopback
    /// only ([`check_listen`](crate::check_listen)) and answers loopback names only.
    pub tokens: Vec<Token>,
    /// Further names under which the server is reached without a token, such as that of a proxy on the same machine:
    /// without a port. Default: none.
    pub hosts: Vec<String>,
    /// How long a request may take, streams aside. Default 30 s.
    pub request_timeout: Duration,
    /// How many event streams may be open at once. Default 256.
    pub streams_max: usize,
    /// What `/readyz` asks.
    pub readiness: Arc<dyn Readiness>,
    /// The services that this process calls. Default: none.
    pub dependencies: Arc<dyn Dependencies>,
    /// How keys are to be used at the front door of this process, as [`Guard::published`](surefoot_http::Guard::published)
    /// says it. Default: it has none.
    pub front_door: Option<Value>,
    /// The relay of this process, which is woken when there may be something to deliver. Default: none, and the poll of
    /// whichever relays run finds it.
    pub relay: Option<Relay>,
}

impl ServerOptions {
    /// The defaults, with what `/readyz` asks.
    pub fn new(readiness: impl Readiness) -> Self {
        Self {
            tokens: Vec::new(),
            hosts: Vec::new(),
            request_timeout: Duration::from_secs(30),
            streams_max: 256,
            readiness: Arc::new(readiness),
            dependencies: Arc::new(NoDependencies),
            front_door: None,
            relay: None,
        }
    }

    /// Every contradiction, each with its remedy; empty when there is none.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.request_timeout.is_zero() {
            faults.push(
                "request_timeout is 0, so no request could be answered; set 1s or more".to_owned(),
            );
        }
        for (index, token) in self.tokens.iter().enumerate() {
            if self
                .tokens
                .iter()
                .take(index)
                .any(|earlier| earlier.name() == token.name())
            {
                let name = token.name();
                faults.push(format!(
                    "two tokens are called {name:?}; a name says who did something: rename one"
                ));
            }
        }
        faults
    }
}

/// Whether this process does its work at present. A closure will do.
pub trait Readiness: Send + Sync + 'static {
    /// Nothing when the database answered lately; else what is wrong, for the operator.
    ///
    /// # Errors
    /// What is wrong. It is served to everybody who can reach `/readyz`, so it names no address and no secret.
    fn check(&self) -> Result<(), String>;
}

impl<F: Fn() -> Result<(), String> + Send + Sync + 'static> Readiness for F {
    fn check(&self) -> Result<(), String> {
        self()
    }
}
