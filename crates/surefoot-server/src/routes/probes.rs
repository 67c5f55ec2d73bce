//! What machines ask about this process: is it up, does it work, what does it count.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::metrics;
use crate::state::App;

/// The process is up. It says nothing about the database: a supervisor that restarts the process over a database that
/// is away makes matters worse.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "health",
    tag = "server",
    responses((status = 200, description = "The process is up", body = String, content_type = "text/plain")),
    security(())
)]
pub(crate) async fn healthz() -> &'static str {
    "up\n"
}

/// This process does its work: it claimed, or looked for work, a short while ago.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readiness",
    tag = "server",
    responses(
        (status = 200, description = "It works", body = String, content_type = "text/plain"),
        (status = 503, description = "It does not; the text says why", body = String, content_type = "text/plain"),
    ),
    security(())
)]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let no_store = [(CACHE_CONTROL, "no-store")];
    match app.readiness().check() {
        Ok(()) => (no_store, "ready\n").into_response(),
        Err(why) => (
            StatusCode::SERVICE_UNAVAILABLE,
            no_store,
            format!("not ready: {why}\n"),
        )
            .into_response(),
    }
}

/// Counters, histograms and gauges in the OpenMetrics text format. With tokens configured it needs one.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "server",
    responses((status = 200, description = "The metrics", body = String,
        content_type = "application/openmetrics-text"))
)]
pub(crate) async fn scrape(State(app): State<App>) -> Response {
    let text = app
        .depth()
        .scrape(
            app.client(),
            app.requests(),
            app.messages(),
            app.metrics(),
            app.dependencies(),
        )
        .await;
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
}
