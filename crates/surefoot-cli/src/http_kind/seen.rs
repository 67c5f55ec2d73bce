//! What is seen of a call from outside: its span and its duration, under OpenTelemetry's names for HTTP clients
//! (semantic conventions 1.23 and later). Neither ever holds a URL's query, a header or a body.

use std::time::Instant;

use opentelemetry::KeyValue;
use opentelemetry::metrics::Histogram;
use reqwest::{Method, StatusCode, Url};
use surefoot_core::classify::Class;
use tracing::Span;

/// The bounds that the conventions advise, in seconds, and three more for slow services.
const BUCKETS: [f64; 17] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 120.0,
    600.0,
];

/// How calls of one kind are seen.
pub(super) struct Seen {
    method: Method,
    server: String,
    port: u16,
    duration: Histogram<f64>,
}

impl Seen {
    pub(super) fn new(method: &Method, url: &str) -> Self {
        let url = Url::parse(url).ok();
        let duration = opentelemetry::global::meter("surefoot")
            .f64_histogram("http.client.request.duration")
            .with_unit("s")
            .with_description("Calls of services")
            .with_boundaries(BUCKETS.to_vec())
            .build();
        Self {
            method: method.clone(),
            server: url
                .as_ref()
                .and_then(|url| url.host_str())
                .unwrap_or_default()
                .to_owned(),
            port: url
                .as_ref()
                .and_then(Url::port_or_known_default)
                .unwrap_or_default(),
            duration,
        }
    }

    /// A call begins.
    pub(super) fn begin(&self, attempt: u32) -> Sent<'_> {
        Sent {
            seen: self,
            span: self.span(attempt),
            started: Instant::now(),
            ended: false,
        }
    }

    fn span(&self, attempt: u32) -> Span {
        let span = tracing::info_span!(
            "http.call",
            otel.name = %self.method,
            otel.kind = "client",
            otel.status_code = tracing::field::Empty,
            http.request.method = %self.method,
            http.request.resend_count = tracing::field::Empty,
            http.response.status_code = tracing::field::Empty,
            server.address = self.server,
            server.port = self.port,
            error.type = tracing::field::Empty,
        );
        if attempt > 1 {
            span.record("http.request.resend_count", attempt - 1);
        }
        span
    }
}

/// One call under way. Dropped before its end, by a time-out or because its handler was stopped, it is counted as one whose
/// outcome is unknown.
pub(super) struct Sent<'a> {
    seen: &'a Seen,
    span: Span,
    started: Instant,
    ended: bool,
}

impl Sent<'_> {
    pub(super) const fn span(&self) -> &Span {
        &self.span
    }

    /// Takes note of how the call ended; without a class it succeeded.
    pub(super) fn ended(mut self, status: Option<StatusCode>, class: Option<Class>) {
        self.note(status, class);
    }

    fn note(&mut self, status: Option<StatusCode>, class: Option<Class>) {
        self.ended = true;
        let (seen, span) = (self.seen, &self.span);
        let mut labels = vec![
            KeyValue::new("http.request.method", seen.method.to_string()),
            KeyValue::new("server.address", seen.server.clone()),
            KeyValue::new("server.port", i64::from(seen.port)),
        ];
        if let Some(status) = status {
            span.record("http.response.status_code", status.as_u16());
            labels.push(KeyValue::new(
                "http.response.status_code",
                i64::from(status.as_u16()),
            ));
        }
        if let Some(class) = class {
            let error_type = match status {
                Some(status) if !status.is_success() => status.as_u16().to_string(),
                Some(_) | None => class.to_string(),
            };
            span.record("otel.status_code", "ERROR");
            span.record("error.type", error_type.as_str());
            labels.push(KeyValue::new("error.type", error_type));
        }
        let took = self.started.elapsed();
        seen.duration.record(took.as_secs_f64(), &labels);
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.note(None, Some(Class::Unknown));
        }
    }
}
