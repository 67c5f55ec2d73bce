//! The client.

use http::{Request, Response};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use tower::{Service, ServiceExt};

use super::body::{AnswerBody, Body};
use crate::dependency::{Attempt, Dependency};
use crate::error::CallError;
use crate::layer::{HttpPlan, Plan, Protect, Protected};
use crate::meaning::Meaning;
use crate::meta::Meta;

/// An HTTP client behind a dependency's policy. Cloning it is cheap and shares connections and state.
#[derive(Clone)]
pub struct HttpClient<C = HttpConnector> {
    inner: Protected<Held<C>, HeldPlan>,
    held: Held<C>,
}

impl HttpClient {
    /// A client without TLS, with the connect time-out of the policy.
    #[must_use]
    pub fn new(dependency: Dependency) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(dependency.policy().timeout.connect));
        connector.set_nodelay(true);
        Self::with_connector(dependency, connector)
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> HttpClient<C> {
    /// A client over a connector of the caller's, such as one with TLS. Its connect time-out is to be that of
    /// the policy.
    pub fn with_connector(dependency: Dependency, connector: C) -> Self {
        // Whether a request is sent again is decided in one place.
        let client = Client::builder(TokioExecutor::new())
            .retry_canceled_requests(false)
            .build(connector);
        let held = Held { client, dependency };
        Self::planned(held, HttpPlan::new())
    }

    /// The same client, of a service that takes effect once for all requests under one `Idempotency-Key`: see
    /// [`HttpPlan::deduplicating`]. Without this a request that may have been applied and is not idempotent by its method is never sent
    /// again, whatever key it carries.
    #[must_use]
    pub fn deduplicating(self) -> Self {
        Self::planned(self.held, HttpPlan::deduplicating())
    }

    fn planned(held: Held<C>, plan: HttpPlan) -> Self {
        let protect = Protect::new(held.dependency.clone(), HeldPlan(plan));
        let inner = tower::Layer::layer(&protect, held.clone());
        Self { inner, held }
    }

    /// Sends a request. An answer with a status that is a failure is returned like any other, once the policy
    /// has done what it can about it.
    ///
    /// # Errors
    /// [`CallError`]: a rejection, or the story of attempts that brought no answer.
    pub async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<AnswerBody>, CallError<Error>> {
        self.inner.clone().oneshot(request).await
    }
}

/// Hyper's client, whose answers keep the seat of their call.
struct Held<C> {
    client: Client<C, Body>,
    dependency: Dependency,
}

impl<C: Clone> Clone for Held<C> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            dependency: self.dependency.clone(),
        }
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> Service<Request<Body>> for Held<C> {
    type Response = Response<AnswerBody>;
    type Error = Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (sent, dependency) = (self.client.request(request), self.dependency.clone());
        Box::pin(async move {
            let answer = sent.await?;
            let left = dependency.left();
            Ok(answer.map(|body| AnswerBody::new(body, left, dependency.0.bulkhead.hold())))
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct HeldPlan(HttpPlan);

type Answer = Response<AnswerBody>;

impl Plan<Request<Body>, Answer, Error> for HeldPlan {
    fn meta(&self, request: &Request<Body>) -> Meta<'static> {
        Plan::<Request<Body>, Answer, Error>::meta(&self.0, request)
    }

    fn again(&self, request: &Request<Body>) -> Option<Request<Body>> {
        Plan::<Request<Body>, Answer, Error>::again(&self.0, request)
    }

    fn prepare(&self, attempt: &Attempt<'_>, request: &mut Request<Body>) -> bool {
        Plan::<Request<Body>, Answer, Error>::prepare(&self.0, attempt, request)
    }

    fn answer(&self, answer: &Answer, meta: &Meta<'_>) -> Option<Meaning> {
        Plan::<Request<Body>, Answer, Error>::answer(&self.0, answer, meta)
    }

    fn error(&self, error: &Error) -> Meaning {
        Plan::<Request<Body>, Answer, Error>::error(&self.0, error)
    }
}
