//! A service of the demo on a free port of the loopback; it stops when its handle is dropped.

use std::net::Ipv4Addr;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::error::DemoError;

/// A running service.
pub(crate) struct Listening {
    url: String,
    task: AbortHandle,
}

/// Serves `app` from here on.
pub(crate) async fn listen(app: Router) -> Result<Listening, DemoError> {
    let failed = || DemoError::io("listen on the loopback");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(failed())?;
    let url = format!("http://{}", listener.local_addr().map_err(failed())?);
    let task = tokio::spawn(async move { axum::serve(listener, app).await }).abort_handle();
    Ok(Listening { url, task })
}

impl Listening {
    /// Where, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}
