//! The HTTP clients of the demo: plain HTTP on the loopback, without proxies. Each caller says its own time-out.

use crate::error::DemoError;

/// A client without any time-out.
pub(crate) fn client() -> Result<reqwest::Client, DemoError> {
    // Only plain HTTP on the loopback, so no certificates are needed.
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .build()
        .map_err(DemoError::unsound("an HTTP client"))
}
