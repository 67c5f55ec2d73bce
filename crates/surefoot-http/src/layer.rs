//! The guard as a tower layer, for axum routers and hyper services alike. It adds no rule of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use surefoot_core::port::RequestTransactions;
use tower::{Layer, Service};

use crate::guard::{BoxError, Guard};

/// Guards a service: a request with an `Idempotency-Key` runs once.
///
/// Put it inside layers that identify the client, set CORS headers (expose `Idempotency-Status` and `Idempotency-Error`
/// there) or compress, and outside everything that does the work.
///
/// ```no_run
/// use std::{sync::Arc, time::Duration};
///
/// use axum::{Extension, Router, routing::post};
/// use surefoot_core::{id::{DependencyName, Worker}, port::Requests, time::Clock};
/// use surefoot_http::{ExtensionTenant, Guard, GuardOptions, IdempotencyLayer, RequestContext};
///
/// async fn charge(Extension(request): Extension<RequestContext>) -> Result<String, String> {
///     let psp = DependencyName::new("psp").map_err(|error| error.to_string())?;
///     Ok(format!("charged under {}", request.key_for(&psp)))
/// }
///
/// # async fn example(requests: Arc<dyn Requests>, clock: Arc<dyn Clock>) -> Result<(), Box<dyn std::error::Error>> {
/// // An outer layer verified who asks, and put a `Tenant` into the extensions.
/// let options = GuardOptions::new(Worker::new("api-1:7f3a")?);
/// let guard = Guard::new(requests, clock, ExtensionTenant, options)?;
/// let app: Router = Router::new()
///     .route("/charges", post(charge))
///     .layer(IdempotencyLayer::new(guard.clone()));
/// # drop(app);
/// // When the listener has stopped:
/// let unknown = guard.drain(Duration::from_secs(30)).await;
/// # drop(unknown); Ok(()) }
/// ```
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

/// Guards a service whose handlers write in the transaction in which their request is claimed: claim, rows, messages, jobs and
/// answer are one commit, or nothing happened. A twin is told at once that it is running.
///
/// A handler takes [`InTransaction`](crate::InTransaction). Put the layer around the routes whose handlers do, and let those
/// routes need a key ([`Need::Required`](crate::Need::Required)): without one there is no transaction.
///
/// ```no_run
/// use axum::{Json, Router, http::StatusCode, response::Response, routing::post};
/// use surefoot_http::{Guard, InTransaction, TransactionLayer};
/// use surefoot_store::postgres::{PostgresRequestTransactions, PostgresStore, sqlx};
///
/// async fn charge(
///     mut tx: InTransaction<sqlx::Transaction<'static, sqlx::Postgres>>,
///     Json(amount): Json<i64>,
/// ) -> Result<Response, StatusCode> {
///     sqlx::query("insert into charge (amount) values ($1)")
///         .bind(amount)
///         .execute(&mut **tx)
///         .await
///         .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?; // rolls everything back
///     Ok(tx.commit_with((StatusCode::CREATED, Json(amount))))
/// }
///
/// # fn example(guard: Guard, store: PostgresStore, pool: sqlx::PgPool) {
/// let transactions = PostgresRequestTransactions::new(store, pool);
/// let app: Router = Router::new()
///     .route("/charges", post(charge))
///     .layer(TransactionLayer::new(guard, transactions));
/// # drop(app); }
/// ```
///
/// The lease, [`Keep`](surefoot_core::request::Keep) and [`StoreAway`](crate::StoreAway) of the route mean nothing here: what is
/// committed is kept, what is not has not happened, and without a store nothing runs. A handler has the route's `run_max`,
/// and should end long before: its transaction holds locks.
#[derive(Debug)]
pub struct TransactionLayer<T> {
    guard: Guard,
    transactions: Arc<T>,
}

impl<T: RequestTransactions> TransactionLayer<T> {
    /// A layer of this guard. `transactions` is of the store of its requests.
    #[must_use]
    pub fn new(guard: Guard, transactions: T) -> Self {
        Self {
            guard,
            transactions: Arc::new(transactions),
        }
    }
}

impl<T> Clone for TransactionLayer<T> {
    fn clone(&self) -> Self {
        Self {
            guard: self.guard.clone(),
            transactions: self.transactions.clone(),
        }
    }
}

impl<S, T> Layer<S> for TransactionLayer<T> {
    type Service = Transactional<S, T>;

    fn layer(&self, inner: S) -> Self::Service {
        Transactional {
            layer: self.clone(),
            inner,
        }
    }
}

/// A service that is guarded in transactions.
#[derive(Debug)]
pub struct Transactional<S, T> {
    layer: TransactionLayer<T>,
    inner: S,
}

impl<S: Clone, T> Clone for Transactional<S, T> {
    fn clone(&self) -> Self {
        Self {
            layer: self.layer.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<S, B, A, T> Service<Request<B>> for Transactional<S, T>
where
    T: RequestTransactions,
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
        let TransactionLayer {
            guard,
            transactions,
        } = self.layer.clone();
        let request = request.map(Body::new);
        Box::pin(async move {
            let call = move |request| async move { Ok(inner.call(request).await?.map(Body::new)) };
            guard.handle_in(request, transactions, call).await
        })
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
