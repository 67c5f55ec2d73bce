//! The endpoint that is tried, and what it answered.

use std::time::Duration;

use http::Method;
use reqwest::{Client, Url};
use serde_json::{Map, Value};

use crate::args::ConformArgs;
use crate::exit::Failed;

/// The endpoint that is tried.
#[derive(Clone)]
pub(super) struct Target {
    client: Client,
    url: Url,
    method: Method,
    body: Map<String, Value>,
    pub(super) slow_body: Option<Map<String, Value>>,
    pub(super) failing_body: Option<Map<String, Value>>,
    pub(super) large_body: Option<Map<String, Value>>,
    headers: Vec<(String, String)>,
    pub(super) other_authorization: Option<String>,
    pub(super) key_optional: bool,
    pub(super) storm: u16,
}

/// One request, as far as it differs from the usual one.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    /// The values of `Idempotency-Key`.
    pub(super) keys: Vec<String>,
    /// Instead of the usual body.
    pub(super) body: Option<Map<String, Value>>,
    /// A safe method instead of the usual one.
    pub(super) is_safe: bool,
    /// Added to the body as a member.
    pub(super) variant: Option<u32>,
    /// The members of the body in the other order, with spaces.
    pub(super) spelled_otherwise: bool,
    /// Added to the query.
    pub(super) query: Option<&'static str>,
    /// Another `Authorization`.
    pub(super) authorization: Option<String>,
    /// The client goes away after this.
    pub(super) leaves_after: Option<Duration>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    pub(super) content_type: String,
    pub(super) has_cookie: bool,
    pub(super) has_retry_after: bool,
}

impl Got {
    pub(super) const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// Whether both can only come of one run.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.status == other.status && self.body == other.body
    }
}

impl Ask {
    pub(super) fn with_key(key: &str) -> Self {
        Self {
            keys: vec![key.to_owned()],
            ..Self::default()
        }
    }
}

/// A key that no one used before: a UUID of version 4, which the draft recommends.
pub(super) fn new_key() -> String {
    let (high, low) = (fastrand::u64(..), fastrand::u64(..));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        8 + (low >> 62),
        (low >> 48) & 0xfff,
        low & 0xffff_ffff_ffff
    )
}

impl Target {
    pub(super) fn new(args: &ConformArgs) -> Result<Self, Failed> {
        let builder = Client::builder()
            .timeout(args.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .user_agent(concat!("surefoot-conform/", env!("CARGO_PKG_VERSION")));
        // Without TLS no certificates are needed, and a system that has none must do.
        let builder = if args.url.scheme() == "http" {
            builder.tls_certs_only([])
        } else {
            builder
        };
        let client = builder.build().map_err(|error| {
            let code = crate::exit::Code::Failed;
            Failed::new(
                code,
                crate::exit::chain(&error),
                "check that the system has a store of certificates",
            )
        })?;
        Ok(Self {
            client,
            url: args.url.clone(),
            method: args.method.clone(),
            body: args.body.clone(),
            slow_body: args.slow_body.clone(),
            failing_body: args.failing_body.clone(),
            large_body: args.large_body.clone(),
            headers: args.headers.clone(),
            other_authorization: args.other_authorization.clone(),
            key_optional: args.key_optional,
            storm: args.storm,
        })
    }

    pub(super) async fn ask(&self, ask: &Ask) -> reqwest::Result<Got> {
        let mut url = self.url.clone();
        if let Some(query) = ask.query {
            url.query_pairs_mut().append_pair("surefoot_variant", query);
        }
        let method = if ask.is_safe {
            Method::GET
        } else {
            self.method.clone()
        };
        let mut request = self.client.request(method, url);
        let replaced =
            |name: &str| ask.authorization.is_some() && name.eq_ignore_ascii_case("authorization");
        for (name, value) in self.headers.iter().filter(|(name, _)| !replaced(name)) {
            request = request.header(name, value);
        }
        if let Some(authorization) = &ask.authorization {
            request = request.header("authorization", authorization);
        }
        for key in &ask.keys {
            request = request.header("idempotency-key", key);
        }
        if let Some(after) = ask.leaves_after {
            request = request.timeout(after);
        }
        let request = if ask.is_safe {
            request
        } else {
            let request = request.header("content-type", "application/json");
            request.body(self.text(ask))
        };
        let answer = request.send().await?;
        let has = |name: &str| answer.headers().contains_key(name);
        let content_type = answer.headers().get("content-type");
        Ok(Got {
            status: answer.status().as_u16(),
            content_type: content_type.map_or_else(String::new, |value| {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            }),
            has_cookie: has("set-cookie"),
            has_retry_after: has("retry-after"),
            body: answer.bytes().await?.to_vec(),
        })
    }

    fn text(&self, ask: &Ask) -> String {
        let body = ask.body.as_ref().unwrap_or(&self.body);
        let mut members: Vec<(String, Value)> = body.clone().into_iter().collect();
        if let Some(variant) = ask.variant {
            members.push(("surefoot_variant".to_owned(), variant.into()));
        }
        let space = if ask.spelled_otherwise {
            members.reverse();
            " "
        } else {
            ""
        };
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("{}:{space}{value}", Value::from(name.as_str())))
            .collect();
        format!("{{{space}{}{space}}}", members.join(","))
    }
}
