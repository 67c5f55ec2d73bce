//! What the process counts, in the OpenMetrics text format. Names are `surefoot_*` with their unit last; what
//! OpenTelemetry has a name for is called by it. No label takes more values than a named limit, whatever callers send.

mod dependencies;
mod depth;
mod door;
mod effects;
mod http;
mod jobs;
mod labels;
mod message_depth;
mod messages;

pub(crate) use depth::DepthCache;
pub(crate) use http::count;
pub use jobs::Metrics;
pub use messages::MessageCounts;

/// The media type of the exposition.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
