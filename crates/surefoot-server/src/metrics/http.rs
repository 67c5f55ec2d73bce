//! Requests by route, under OpenTelemetry's name. The route is the pattern and never the path, so ids make no series.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

use super::labels::OTHER;
use crate::state::App;

/// The bounds that OpenTelemetry's semantic conventions advise, in seconds.
const BUCKETS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabel {
    http_request_method: &'static str,
    http_route: String,
    http_response_status_code: u16,
}

/// How long requests took, to the head of the answer.
#[derive(Clone)]
pub(super) struct HttpMetrics {
    duration: Family<RequestLabel, Histogram, fn() -> Histogram>,
}

impl Default for HttpMetrics {
    fn default() -> Self {
        Self {
            duration: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
        }
    }
}

impl HttpMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "http_server_request_duration",
            "From a request to the head of its answer",
            Unit::Seconds,
            self.duration.clone(),
        );
    }
}

/// The layer that measures.
pub(crate) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = method(request.method());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or(OTHER, MatchedPath::as_str)
        .to_owned();
    let response = next.run(request).await;
    let label = RequestLabel {
        http_request_method: method,
        http_route: route,
        http_response_status_code: response.status().as_u16(),
    };
    app.metrics()
        .http
        .duration
        .get_or_create(&label)
        .observe(began.elapsed().as_secs_f64());
    log(&label, response.status(), began);
    response
}

fn log(label: &RequestLabel, status: StatusCode, began: Instant) {
    let RequestLabel {
        http_request_method: method,
        http_route: route,
        ..
    } = label;
    let ms = began.elapsed().as_secs_f64() * 1000.0;
    tracing::debug!(method, route, status = status.as_u16(), ms, "request");
}

/// The method, or `_OTHER` as OpenTelemetry has it.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}
