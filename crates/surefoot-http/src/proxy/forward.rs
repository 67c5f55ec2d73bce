//! One request to the upstream and back. What may have arrived there is never called a failure.

use std::time::Duration;

use axum::body::Body;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use surefoot_policy::clock::{Clock as _, TokioClock};
use surefoot_policy::context::{Ambient, headers as context};

use super::connect::Connector;
use super::headers;
use super::{ProxyOptions, ProxyRefused};
use crate::problem::{
    DEADLINE_PASSED, Problem, ProblemTypes, UPSTREAM_BROKEN, UPSTREAM_TIMEOUT, UPSTREAM_UNREACHABLE,
};
use crate::term::Term;
use crate::told::Told;

/// The name under which an owner of retries that sent none is passed on.
const RETRY_OWNER: HeaderValue = HeaderValue::from_static("surefoot");

/// The service behind the proxy.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    authority: Authority,
    client: Client<Connector, Body>,
    timeout: Duration,
    problems: ProblemTypes,
}

impl Upstream {
    pub(super) fn new(
        upstream: Uri,
        options: &ProxyOptions,
        problems: ProblemTypes,
    ) -> Result<Self, ProxyRefused> {
        let is_plain = upstream.scheme() == Some(&Scheme::HTTP)
            && upstream.path() == "/"
            && upstream.query().is_none();
        let authority = match upstream.authority() {
            Some(authority) if is_plain && !authority.as_str().contains('@') => authority.clone(),
            Some(_) | None => return Err(ProxyRefused::Upstream(upstream)),
        };
        Ok(Self {
            authority,
            client: client(options.connect_timeout, options.idle_max),
            timeout: options.upstream_timeout,
            problems,
        })
    }

    /// The answer of the upstream, or what is known of it: [`Told`] says which in the response's extensions.
    pub(super) async fn forward(&self, request: Request<Body>) -> Response<Body> {
        let ambient = Ambient::current();
        let now = TokioClock.now();
        let (mut head, body) = request.into_parts();
        headers::to_upstream(&mut head);
        let owner = head
            .headers
            .get(context::RETRY_OWNER)
            .cloned()
            .unwrap_or(RETRY_OWNER);
        if !context::write(&mut head.headers, &ambient, &owner, now) {
            return self.told(
                Problem::new(
                    &DEADLINE_PASSED,
                    "no time was left to ask the service; nothing was run",
                ),
                Told::NotBegun("its deadline passed before the upstream was asked".to_owned()),
            );
        }
        let Some(uri) = self.uri(head.uri.path_and_query()) else {
            return self.told(
                Problem::new(
                    &UPSTREAM_UNREACHABLE,
                    "the path cannot be passed on; nothing was run",
                ),
                Told::NotBegun("its path could not be passed on".to_owned()),
            );
        };
        head.uri = uri;
        head.version = Version::HTTP_11;
        // Connecting may have taken long, or this process may have stood still.
        let term = head.extensions.remove::<Term>();
        let body = match &term {
            Some(term) => term.clone().bind(body),
            None => body,
        };
        head.extensions.clear();
        let left = ambient.deadline.map_or(self.timeout, |deadline| {
            deadline.since(now).min(self.timeout)
        });
        let answering = self.client.request(Request::from_parts(head, body));
        let answered = Term::scope(term, answering);
        match tokio::time::timeout(left, answered).await {
            Ok(Ok(response)) if !is_final(response.status()) => {
                let status = response.status().as_u16();
                tracing::warn!(status, "the upstream answered with no status of an answer");
                self.told(
                    Problem::new(&UPSTREAM_BROKEN, "it may have happened"),
                    Told::Unknown(format!(
                        "the upstream answered with the status {status}, which says nothing"
                    )),
                )
            }
            Ok(Ok(response)) => {
                let mut response = response.map(Body::new);
                headers::end_hop(response.headers_mut());
                response
            }
            Ok(Err(error)) if error.is_connect() => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the upstream cannot be reached"
                );
                self.told(
                    Problem::new(
                        &UPSTREAM_UNREACHABLE,
                        "nothing was run; send it again under the same key",
                    ),
                    Told::NotBegun("the upstream could not be connected to".to_owned()),
                )
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the upstream broke off"
                );
                self.told(
                    Problem::new(&UPSTREAM_BROKEN, "it may have happened"),
                    Told::Unknown("the upstream broke off before it answered".to_owned()),
                )
            }
            Err(_) => {
                tracing::warn!(?left, "the upstream did not answer in time");
                self.told(
                    Problem::new(&UPSTREAM_TIMEOUT, "it may have happened"),
                    Told::Unknown(format!("the upstream did not answer within {left:?}")),
                )
            }
        }
    }

    /// Our own answer in place of the upstream's, and what it means.
    fn told(&self, problem: Problem, told: Told) -> Response<Body> {
        let mut response = problem.response(&self.problems, None);
        response.extensions_mut().insert(told);
        response
    }

    fn uri(&self, path: Option<&PathAndQuery>) -> Option<Uri> {
        let path = path
            .cloned()
            .unwrap_or_else(|| PathAndQuery::from_static("/"));
        let uri = Uri::builder()
            .scheme(Scheme::HTTP)
            .authority(self.authority.clone());
        uri.path_and_query(path).build().ok()
    }
}

/// Whether a status is that of an answer (RFC 9110, section 15): another one says nothing of what became of the request, and is
/// never kept. An upgrade is not passed on, so 101 is none either.
pub(super) fn is_final(status: StatusCode) -> bool {
    (200..=599).contains(&status.as_u16())
}

/// A client that keeps connections for a short while.
pub(super) fn client(connect_timeout: Duration, idle_max: Duration) -> Client<Connector, Body> {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(idle_max)
        .build(Connector::new(connect_timeout))
}
