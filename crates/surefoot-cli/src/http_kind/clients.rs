//! One HTTP client for each dependency, so that its connections are kept and shared. Calls under `at_most_once` go
//! through a client that keeps none: on a kept connection that the other end just closed, nobody can tell whether a
//! call arrived.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Client;

use crate::config::{CallRecovery, Dependency};

/// How long an unused connection is kept.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// How many unused connections to one dependency are kept.
const IDLE_CONNECTIONS_MAX: usize = 64;

/// Chooses ring as the one TLS provider of this process. With none chosen, a client could not be made; with two
/// possible ones, making it would panic.
pub(crate) fn choose_tls() {
    // An error says that one was chosen before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client could not be made, for example because the system has no certificates.
#[derive(Debug, thiserror::Error)]
#[error("failed to prepare calls of dependency {dependency}: {source}")]
pub(crate) struct ClientError {
    dependency: String,
    source: reqwest::Error,
}

/// The clients made so far, by dependency and by whether connections are kept.
#[derive(Debug, Default)]
pub(crate) struct Clients(BTreeMap<(String, bool), Client>);

impl Clients {
    /// The client for calls of `dependency` under this recovery. A second call matters most where nobody can be asked and
    /// nothing deduplicates.
    ///
    /// # Errors
    /// [`ClientError`] when it cannot be made.
    pub(crate) fn client(
        &mut self,
        dependency: &Dependency,
        recovery: &CallRecovery,
    ) -> Result<Client, ClientError> {
        let keeps = *recovery != CallRecovery::AtMostOnce;
        let place = (dependency.name.to_string(), keeps);
        if let Some(client) = self.0.get(&place) {
            return Ok(client.clone());
        }
        let client = build(dependency, keeps).map_err(|source| ClientError {
            dependency: dependency.name.to_string(),
            source,
        })?;
        self.0.insert(place, client.clone());
        Ok(client)
    }
}

fn build(dependency: &Dependency, keeps: bool) -> reqwest::Result<Client> {
    let builder = Client::builder();
    // Without TLS no certificates are needed, and a system that has none must do.
    let is_plain = dependency.base_url.starts_with("http://");
    let builder = if is_plain {
        builder.tls_certs_only([])
    } else {
        builder
    };
    builder
        .connect_timeout(dependency.policy.timeout.connect)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(if keeps { IDLE_CONNECTIONS_MAX } else { 0 })
        .tcp_nodelay(true)
        .user_agent(concat!("surefoot/", env!("CARGO_PKG_VERSION")))
        .build()
}
