//! Every route of the API, and the layers around them. What a request meets, from the outside in: the problem writer,
//! the metrics, the panic catcher, the guard against web pages, the token check, the time-out, the route.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::{Extension, Router};
use surefoot::Client;
use surefoot_core::port::{Messages, Requests};
use tower::limit::GlobalConcurrencyLimitLayer;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::{self, BODY_BYTES_MAX, Room};
use crate::extract;
use crate::metrics::{self, Metrics};
use crate::openapi::{self, Document};
use crate::options::ServerOptions;
use crate::problem::{self, Problem};
use crate::routes::{
    dead, dependencies, effects, events, jobs, leases, messages, probes, queues, requests, steer,
};
use crate::state::App;
use crate::{auth, origin};

/// The most requests that are worked on at once, each after its body arrived; further ones wait within their time-out.
/// With the limit on a body it bounds the memory that bodies take.
pub const REQUESTS_MAX: usize = 256;

/// The HTTP API over a client and what remembers requests and messages in the same database.
///
/// Without tokens in `options` it must be served on a loopback address only: see
/// [`check_listen`](crate::check_listen).
pub fn router(
    client: Client,
    requests: Arc<dyn Requests>,
    messages: Arc<dyn Messages>,
    metrics: Arc<Metrics>,
    options: ServerOptions,
) -> Router {
    let app = App::new(client, requests, messages, metrics, options);
    let guarded = plain(OpenApiRouter::new().routes(routes!(events::events)));
    finished(
        &app,
        timed().merge(of_requests()).merge(of_messages()),
        guarded,
    )
}

/// The part of the API that is about requests of the front door, with the metrics and probes, for a process that runs no
/// jobs. The same rules hold as for [`router`].
pub fn requests_router(
    client: Client,
    requests: Arc<dyn Requests>,
    messages: Arc<dyn Messages>,
    metrics: Arc<Metrics>,
    options: ServerOptions,
) -> Router {
    let app = App::new(client, requests, messages, metrics, options);
    let scrape = plain(OpenApiRouter::new().routes(routes!(probes::scrape)));
    finished(&app, of_requests().merge(scrape), OpenApiRouter::new())
}

/// The routes with their document and the layers around them.
fn finished(app: &App, timed: OpenApiRouter<App>, streams: OpenApiRouter<App>) -> Router {
    let (router, document) = routes(app, timed, streams).split_for_parts();
    router
        .fallback(problem::unknown_route)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .layer(Extension(Document(written(&openapi::finish(document)))))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(from_fn_with_state(app.clone(), metrics::count))
        .layer(from_fn(problem::render))
        .with_state(app.clone())
}

fn routes(app: &App, timed: OpenApiRouter<App>, streams: OpenApiRouter<App>) -> OpenApiRouter<App> {
    let guard = from_fn_with_state(app.clone(), origin::guard);
    let at_once = GlobalConcurrencyLimitLayer::new(REQUESTS_MAX);
    let guarded = timed
        .layer(at_once)
        .layer(from_fn_with_state(Room::new(), body::receive))
        .layer(from_fn_with_state(app.clone(), bounded));
    let guarded = guarded.merge(streams);
    let guarded = guarded.layer(from_fn_with_state(app.clone(), auth::authenticate));
    let guarded = guarded.merge(plain(
        OpenApiRouter::new().routes(routes!(openapi::openapi)),
    ));
    let open = OpenApiRouter::new()
        .routes(routes!(probes::healthz))
        .routes(routes!(probes::readyz))
        .routes(routes!(problem::page::explain));
    OpenApiRouter::with_openapi(openapi::base())
        .merge(guarded.layer(guard))
        .merge(plain(open))
}

/// The routes that answer within the request time-out and need a token where there is one.
fn timed() -> OpenApiRouter<App> {
    let without_query = OpenApiRouter::new()
        .routes(routes!(jobs::enqueue))
        .routes(routes!(jobs::show))
        .routes(routes!(steer::cancel))
        .routes(routes!(steer::replay))
        .routes(routes!(steer::ignore))
        .routes(routes!(steer::edit))
        .routes(routes!(leases::claim))
        .routes(routes!(leases::extend))
        .routes(routes!(leases::succeed))
        .routes(routes!(leases::fail))
        .routes(routes!(leases::unknown))
        .routes(routes!(effects::begin))
        .routes(routes!(effects::answer))
        .routes(routes!(effects::asked))
        .routes(routes!(effects::show))
        .routes(routes!(effects::resolve))
        .routes(routes!(dead::groups))
        .routes(routes!(dependencies::list))
        .routes(routes!(dependencies::steer))
        .routes(routes!(queues::list))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(probes::scrape));
    plain(without_query).merge(OpenApiRouter::new().routes(routes!(jobs::list)))
}

/// The routes of requests of the front door, with the same rules.
fn of_requests() -> OpenApiRouter<App> {
    let with_query = OpenApiRouter::new()
        .routes(routes!(requests::list))
        .routes(routes!(requests::show));
    let without_query = OpenApiRouter::new()
        .routes(routes!(requests::resolve))
        .routes(routes!(requests::front_door));
    plain(without_query).merge(with_query)
}

/// The routes of messages and sinks, with the same rules.
fn of_messages() -> OpenApiRouter<App> {
    let with_query = OpenApiRouter::new()
        .routes(routes!(messages::show))
        .routes(routes!(messages::deliveries));
    let without_query = OpenApiRouter::new()
        .routes(routes!(messages::append))
        .routes(routes!(messages::again))
        .routes(routes!(messages::skip))
        .routes(routes!(messages::sinks));
    plain(without_query).merge(with_query)
}

/// Routes that know no parameter of the query, so that any is refused.
fn plain(routes: OpenApiRouter<App>) -> OpenApiRouter<App> {
    routes.layer(from_fn(extract::no_query))
}

/// Gives a request up after its time. Whether it took effect is not known then, and the answer says so.
async fn bounded(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let within = tokio::time::timeout(app.request_timeout(), next.run(request));
    within.await.map_err(|_| Problem::no_answer_in_time())
}

fn written(document: &utoipa::openapi::OpenApi) -> Arc<str> {
    match serde_json::to_string(document) {
        Ok(text) => text.into(),
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the OpenAPI document could not be written"
            );
            "{}".into()
        }
    }
}
