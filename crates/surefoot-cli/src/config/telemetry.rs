//! `[telemetry]`: where traces and metrics go and what logs look like.

use reqwest::Url;

use super::environment::{self, Environment};
use super::section::Section;

/// `[telemetry]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TelemetrySection {
    /// The base URL of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`.
    pub(crate) otlp_endpoint: Option<String>,
    /// What logs look like.
    pub(crate) log_format: LogFormat,
}

/// What logs look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// A line of text for each event.
    #[default]
    Text,
    /// A JSON object on a line for each event.
    Json,
}

impl LogFormat {
    /// Every one.
    pub(super) const ALL: [Self; 2] = [Self::Text, Self::Json];

    /// Its word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Reads the section; `None` when something of it is wrong.
pub(super) fn read(
    section: &Section<'_>,
    environment: Environment<'_>,
) -> Option<TelemetrySection> {
    let otlp_endpoint = section.text("otlp_endpoint").check(section.faults, |text| {
        environment::fill(text, environment)
            .map_err(|refusal| refusal.to_string())
            .and_then(|url| endpoint(&url))
    });
    let log_format = section.text("log_format").check(section.faults, |word| {
        let known = LogFormat::ALL
            .into_iter()
            .find(|known| known.as_str() == word);
        known.ok_or_else(|| format!("log_format {word:?} is unknown; give \"text\" or \"json\""))
    });
    section.finish();
    Some(TelemetrySection {
        otlp_endpoint: otlp_endpoint.optional()?,
        log_format: log_format.or(LogFormat::Text)?,
    })
}

fn endpoint(text: &str) -> Result<String, String> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            Ok(url.as_str().trim_end_matches('/').to_owned())
        }
        Ok(_) | Err(_) => Err(
            "otlp_endpoint is no http or https URL; write for example http://127.0.0.1:4318"
                .to_owned(),
        ),
    }
}
