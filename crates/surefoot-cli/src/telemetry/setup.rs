//! Sets up logs, traces and metrics for the process, and sends what is left of them at its end.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;
use crate::exit::{Code, Failed, chain};

/// How long the last traces and metrics may take to be sent.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// How long one export may take.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The endpoint of the OpenTelemetry specification, when the configuration names none.
const ENDPOINT_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// What to log and where to export to.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogOptions {
    /// What logs look like.
    pub(crate) format: LogFormat,
    /// The base URL of an OTLP receiver over HTTP.
    pub(crate) otlp_endpoint: Option<String>,
}

/// What has to be taken down at the end.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    exporters: Option<(SdkTracerProvider, SdkMeterProvider)>,
}

impl Telemetry {
    /// Sets up logs, and exports when there is an endpoint. Once for each process. The level is `RUST_LOG`, else
    /// `info`.
    ///
    /// # Errors
    /// An endpoint that cannot be used.
    pub(crate) fn start(options: &LogOptions) -> Result<Self, Failed> {
        let from_environment = || {
            std::env::var(ENDPOINT_VARIABLE)
                .ok()
                .filter(|endpoint| !endpoint.is_empty())
        };
        let endpoint = options.otlp_endpoint.clone().or_else(from_environment);
        let exporters = endpoint
            .map(|endpoint| exporters(endpoint.trim_end_matches('/')))
            .transpose()?;

        let filter = EnvFilter::builder()
            .with_default_directive(LevelFilter::INFO.into())
            .from_env_lossy();
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_target(false);
        let lines = match options.format {
            LogFormat::Text => lines
                .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
                .boxed(),
            LogFormat::Json => lines
                .json()
                .with_current_span(true)
                .with_span_list(false)
                .boxed(),
        };
        let spans = exporters.as_ref().map(|(tracers, _)| {
            let tracer = tracers.tracer("surefoot");
            tracing_opentelemetry::layer()
                .with_tracer(tracer)
                .with_filter(LevelFilter::INFO)
        });
        tracing_subscriber::registry()
            .with(spans)
            .with(lines.with_filter(filter))
            .try_init()
            .map_err(|error| Failed::new(Code::Failed, chain(&error), ""))?;
        if let Some((tracers, meters)) = &exporters {
            opentelemetry::global::set_tracer_provider(tracers.clone());
            opentelemetry::global::set_meter_provider(meters.clone());
        }
        Ok(Self { exporters })
    }

    /// Sends what is left, for a few seconds at most.
    pub(crate) async fn stop(self) {
        let Some((tracers, meters)) = self.exporters else {
            return;
        };
        let sent = tokio::task::spawn_blocking(move || {
            let spans = tracers.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
            spans.and(meters.shutdown_with_timeout(SHUTDOWN_TIMEOUT))
        });
        match tokio::time::timeout(SHUTDOWN_TIMEOUT * 2, sent).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => {
                tracing::warn!(%error, "the last traces or metrics were not sent")
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!("the last traces or metrics were not sent in time")
            }
        }
    }
}

fn exporters(endpoint: &str) -> Result<(SdkTracerProvider, SdkMeterProvider), Failed> {
    let unusable = |error: &dyn std::error::Error| {
        Failed::new(
            Code::Configuration,
            format!("traces and metrics cannot be exported: {}", chain(error)),
            "check [telemetry] otlp_endpoint, such as http://127.0.0.1:4318",
        )
    };
    let resource = Resource::builder()
        .with_service_name("surefoot")
        .with_attribute(opentelemetry::KeyValue::new(
            "service.version",
            env!("CARGO_PKG_VERSION"),
        ))
        .build();
    let client = client(endpoint).map_err(|error| unusable(&error))?;
    let spans = SpanExporter::builder()
        .with_http()
        .with_http_client(client.clone())
        .with_endpoint(format!("{endpoint}/v1/traces"))
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| unusable(&error))?;
    let metrics = MetricExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(format!("{endpoint}/v1/metrics"))
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| unusable(&error))?;
    let tracers = SdkTracerProvider::builder()
        .with_batch_exporter(spans)
        .with_resource(resource.clone())
        .build();
    let meters = SdkMeterProvider::builder()
        .with_periodic_exporter(metrics)
        .with_resource(resource)
        .build();
    Ok((tracers, meters))
}

/// The client of the exporters, which have threads of their own and block them. It is built on such a thread, too.
fn client(endpoint: &str) -> Result<reqwest::blocking::Client, std::io::Error> {
    // Without TLS no certificates are needed, and a system that has none must do.
    let is_plain = endpoint.starts_with("http://");
    let build = move || {
        let builder = reqwest::blocking::Client::builder().timeout(EXPORT_TIMEOUT);
        let builder = if is_plain {
            builder.tls_certs_only([])
        } else {
            builder
        };
        builder.build()
    };
    let built = std::thread::Builder::new().spawn(build)?.join();
    built
        .map_err(|_| std::io::Error::other("making the HTTP client panicked"))?
        .map_err(std::io::Error::other)
}
