//! `[dependency.NAME]`: a service that the engine calls. Its headers may take secrets from the environment; nothing
//! here connects to anything.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use surefoot_core::checklist::Waiver;
use surefoot_core::id::DependencyName;
use surefoot_policy::Policy;

use super::answers;
use super::environment::{self, Environment};
use super::policy;
use super::section::{Field, Section};

/// Headers that the engine or the protocol sets.
pub(super) const HEADERS_RESERVED: [&str; 11] = [
    "idempotency-key",
    "traceparent",
    "x-surefoot-attempt",
    "x-request-timeout-ms",
    "x-retry-owner",
    "x-retry-attempt",
    "content-length",
    "transfer-encoding",
    "connection",
    "host",
    "te",
];

/// A service that the engine calls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dependency {
    /// What it is called in the file.
    pub(crate) name: DependencyName,
    /// Where it is, without a slash at the end.
    pub(crate) base_url: String,
    /// What protects its calls. By default a call is tried once, for the job is tried again.
    pub(crate) policy: Policy,
    /// Sent with each call.
    pub(crate) headers: HeaderMap,
    /// Which faults of the checklist are accepted.
    pub(crate) waivers: Vec<Waiver>,
}

impl Dependency {
    /// Whether its policy makes a call again by itself: then a call is as long as its total deadline.
    pub(crate) const fn repeats(&self) -> bool {
        self.policy.retry.attempts_max > 1 || self.policy.hedge.is_some()
    }
}

/// Reads one; `None` when something of it is wrong.
pub(super) fn read(
    name: &str,
    section: &Section<'_>,
    environment: Environment<'_>,
) -> Option<Dependency> {
    let base_url = section.text("base_url").check(section.faults, |text| {
        environment::fill(text, environment)
            .map_err(|refusal| refusal.to_string())
            .and_then(|url| base_url(&url))
    });
    let policy = policy::read(section);
    let headers = headers(section, environment);
    let waivers = answers::of_dependency(section);
    if base_url == Field::Absent {
        section.missing(
            "base_url",
            "add for example base_url = \"http://127.0.0.1:9001\"",
        );
    }
    section.finish();
    let name = DependencyName::new(name)
        .inspect_err(|refusal| {
            section
                .faults
                .note_text(section.header.clone(), &refusal.to_string());
        })
        .ok();
    Some(Dependency {
        name: name?,
        base_url: base_url.optional()??,
        policy: policy?,
        headers: headers?,
        waivers: waivers?,
    })
}

/// The headers of a `headers` table; `None` when one of them is wrong, and empty when there is no table.
pub(super) fn headers(section: &Section<'_>, environment: Environment<'_>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    if section.value("headers").is_none() {
        return Some(headers);
    }
    let (entries, mut sound) = section.section("headers")?.entries();
    for entry in entries {
        match (
            header_name(entry.name),
            header_value(entry.text, environment),
        ) {
            (Ok(name), Ok(value)) => {
                headers.insert(name, value);
            }
            (name, value) => {
                sound = false;
                name.err()
                    .into_iter()
                    .for_each(|fault| section.faults.note_text(entry.name_span.clone(), &fault));
                value
                    .err()
                    .into_iter()
                    .for_each(|fault| section.faults.note_text(entry.text_span.clone(), &fault));
            }
        }
    }
    sound.then_some(headers)
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    if HEADERS_RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!(
            "the header {name:?} is set by the engine; remove it"
        ));
    }
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("{name:?} is no name of a header; use letters, digits and -"))
}

fn header_value(text: &str, environment: Environment<'_>) -> Result<HeaderValue, String> {
    let filled = environment::fill(text, environment).map_err(|refusal| refusal.to_string())?;
    let mut value = HeaderValue::from_str(&filled).map_err(|_| {
        "the value cannot stand in a header; use printable ASCII characters".to_owned()
    })?;
    value.set_sensitive(filled != text);
    Ok(value)
}

fn base_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|refusal| {
        // The text is not repeated: it may hold a secret.
        format!("base_url is no URL ({refusal}); write for example http://127.0.0.1:9001")
    })?;
    let fault = if !matches!(url.scheme(), "http" | "https") {
        Some("is neither http nor https; only these are called")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("holds a user or password; send it as a header with a value such as \"Basic ${NAME}\"")
    } else if url.query().is_some() || url.fragment().is_some() {
        Some("has a query or fragment; put the query into the path of the request")
    } else {
        None
    };
    match fault {
        Some(fault) => Err(format!("base_url {fault}")),
        None => Ok(url.as_str().trim_end_matches('/').to_owned()),
    }
}
