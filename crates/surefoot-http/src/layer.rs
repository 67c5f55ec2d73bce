//! The guard as a tower layer, for axum routers and hyper services alike. It adds no rule of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use tower::{Layer, Service};

use crate::guard::{BoxError, Guard};

/// Guards a service: a request with an `Idempotency-Key` runs once.
///
/// Put it inside layers that identify the client, set CORS headers (expose `Idempotency-Status` and `Idempotency-Error`
/// there) or compress, and outside everything that does the work.
#[derive(Clone, Debug)]
pub struct IdempotencyLayer(Guard);

impl IdempotencyLayer {
    /// A layer of this guard.
    #[must_use]
    pub const fn new(guard: Guard) -> Self {
        Self(guard)
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = Idempotency<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Idempotency {
            guard: self.0.clone(),
            inner,
        }
    }
}

/// A guarded service.
#[derive(Clone, Debug)]
pub struct Idempotency<S> {
    guard: Guard,
    inner: S,
}

impl<S, B, A> Service<Request<B>> for Idempotency<S>
where
    S: Service<Request<Body>, Response = Response<A>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    A: http_body::Body<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that was polled ready is the one that is called; a clone takes its place.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let guard = self.guard.clone();
        let request = request.map(Body::new);
        Box::pin(async move {
            let call = move |request| async move { Ok(inner.call(request).await?.map(Body::new)) };
            guard.handle(request, call).await
        })
    }
}
