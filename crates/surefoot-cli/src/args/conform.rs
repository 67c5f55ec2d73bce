//! `conform`.

use std::time::Duration;

use http::Method;

use super::value;

/// Arguments of `conform`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
What the endpoint has to be: one that does what it does each time it is run, answers 2xx, and says something new each \
time, such as an id that it made, so that a repetition can be told from a second run. Give one for tests: it is really \
run, about forty times.

The body is --body, a JSON object; variants of it are made by adding the member surefoot_variant. Some cases need an endpoint \
that takes long, fails or answers at length when it is asked to, and are left out unless --slow-body, --failing-body and \
--large-body say how to ask.")]
pub(crate) struct ConformArgs {
    /// The endpoint, such as http://127.0.0.1:8080/charges
    #[arg(value_name = "URL", value_parser = endpoint)]
    pub(crate) url: reqwest::Url,
    /// The method
    #[arg(long, default_value = "POST")]
    pub(crate) method: Method,
    /// The body, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{\"amount\":1,\"currency\":\"EUR\"}", value_parser = object)]
    pub(crate) body: serde_json::Map<String, serde_json::Value>,
    /// A body for which the endpoint takes two seconds or longer, best longer than its guard holds a key without a sign of
    /// life, and then answers 2xx
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) slow_body: Option<serde_json::Map<String, serde_json::Value>>,
    /// A body for which the endpoint answers 5xx, with something new each time it runs
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) failing_body: Option<serde_json::Map<String, serde_json::Value>>,
    /// A body for which the endpoint answers 2xx with more than its guard keeps
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) large_body: Option<serde_json::Map<String, serde_json::Value>>,
    /// A header of every request, such as 'Authorization: Bearer TOKEN'; give it once for each
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// Authorization of another tenant, to see that it does not get this one's answers
    #[arg(
        long,
        value_name = "VALUE",
        env = "SUREFOOT_OTHER_AUTHORIZATION",
        hide_env_values = true
    )]
    pub(crate) other_authorization: Option<String>,
    /// A key is not needed here: leave out what a missing one must lead to
    #[arg(long)]
    pub(crate) key_optional: bool,
    /// How many requests with one key are sent at once
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub(crate) storm: u16,
    /// How long one request may take
    #[arg(long, value_name = "DURATION", value_parser = value::duration, default_value = "30s")]
    pub(crate) timeout: Duration,
}

fn endpoint(text: &str) -> Result<reqwest::Url, String> {
    reqwest::Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| "write a whole URL, such as http://127.0.0.1:8080/charges".to_owned())
}

fn object(text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON object: {error}"))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
