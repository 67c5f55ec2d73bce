//! Connecting to the upstream for a run. It can take long, and a process can stand still meanwhile: a connection that is there only
//! when the run's lease is over is given up, and nothing has left.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use crate::guard::BoxError;
use crate::term::Term;

/// Opens plain connections.
#[derive(Clone, Debug)]
pub(super) struct Connector(HttpConnector);

impl Connector {
    pub(super) fn new(timeout: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(timeout));
        connector.set_nodelay(true);
        Self(connector)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(BoxError::from)
    }

    fn call(&mut self, upstream: Uri) -> Self::Future {
        let term = Term::current();
        let connecting = self.0.call(upstream);
        Box::pin(async move {
            let stream = connecting.await?;
            match term {
                Some(term) => term.check().map(|()| stream),
                None => Ok(stream),
            }
        })
    }
}
