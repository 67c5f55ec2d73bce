//! `proxy`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http::{HeaderName, Uri};
use surefoot_core::id::Tenant;
use surefoot_core::request::{self, BODY_BYTES_MAX};
use surefoot_http::Need;
use surefoot_http::problem::ProblemTypes;

use super::value;
use crate::config::{LogFormat, ProxySection, RouteKeys, TenantKeys, documentation};

/// Arguments of `proxy`. What is not given is taken from `[proxy]` of the configuration, then from the default.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// The service to stand in front of, such as http://127.0.0.1:3000; needed where [proxy] does not name it
    #[arg(long, value_name = "URL")]
    upstream: Option<Uri>,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = value::address)]
    listen: Option<SocketAddr>,
    /// Where to serve /metrics, the rules that are in force and what is on record of requests [default: 127.0.0.1:7071, unless it is taken]
    #[arg(long, value_name = "ADDRESS", value_parser = value::address)]
    admin: Option<SocketAddr>,
    /// The page that says how keys are to be used here, told as a link on every refusal: an address, or a path of the service
    #[arg(long, value_name = "URL", value_parser = documentation)]
    documentation: Option<ProblemTypes>,
    /// What logs look like [default: text]
    #[arg(long, env = "SUREFOOT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    tenants: TenantArgs,
}

/// How requests are guarded. A route of the configuration that says something itself is guarded by that.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Requests")]
struct GuardArgs {
    /// Refuse POST, PUT, PATCH and DELETE without an Idempotency-Key
    #[arg(long)]
    require_key: bool,
    /// Which answers are kept and replayed [default: all]
    #[arg(long, value_name = "WHICH")]
    keep: Option<Keep>,
    /// How long the service may take to begin its answer; after that the outcome is unknown [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    upstream_timeout: Option<Duration>,
    /// How long a repetition waits for the request that is under way before it is told 409 [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    wait: Option<Duration>,
    /// How long a run holds its key without a sign of life from this process [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    lease: Option<Duration>,
    /// How long a run may take in all [default: 5m, or the lease or the upstream time-out if that is longer]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    run_max: Option<Duration>,
    /// How long after the lease what was sent can still take effect [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    settles_within: Option<Duration>,
    /// How long answers are kept [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    retention: Option<Duration>,
    /// How long a key stays taken [default: 7d]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    tombstone: Option<Duration>,
    /// The largest body of a request with a key [default: 1048576]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    request_bytes_max: Option<usize>,
    /// The largest body of an answer that is kept [default: 1048576]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    answer_bytes_max: Option<usize>,
    /// Where to ask by GET what became of a request whose outcome is unknown: an http:// address of the service that
    /// answers with the header surefoot-outcome: happened, nothing-happened or unknown. Without it a person decides
    #[arg(long, value_name = "URL")]
    verify: Option<Uri>,
}

/// Which answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum Keep {
    /// Every answer, 5xx too
    All,
    /// Every answer, but where the service says surefoot-outcome: nothing-happened
    UnlessNothingHappened,
    /// Only answers that a client would get again: not 408, 425, 429 and 5xx
    Final,
}

/// Whose a request is.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Tenants")]
struct TenantArgs {
    /// The one tenant of all requests; only on loopback [default: default]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tenant_tokens", "tenant_header"])]
    tenant: Option<Tenant>,
    /// Bearer tokens by tenant: NAME=TOKEN,NAME=TOKEN
    #[arg(
        long,
        env = "SUREFOOT_TENANT_TOKENS",
        hide_env_values = true,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = token,
        conflicts_with = "tenant_header"
    )]
    tenant_tokens: Vec<(Tenant, String)>,
    /// The header in which a proxy in front names the tenant that it verified
    #[arg(long, value_name = "HEADER", requires = "trusted_proxy")]
    tenant_header: Option<HeaderName>,
    /// The address of such a proxy; give it once for each
    #[arg(long, value_name = "IP", requires = "tenant_header")]
    trusted_proxy: Vec<IpAddr>,
}

impl ProxyArgs {
    /// What was given, in the rooms of the configuration.
    pub(crate) fn section(&self) -> ProxySection {
        let guard = &self.guard;
        ProxySection {
            upstream: self.upstream.clone(),
            listen: self.listen,
            admin: self.admin,
            upstream_timeout: guard.upstream_timeout,
            documentation: self.documentation.clone(),
            tenants: self.tenants.keys(),
            all: RouteKeys {
                need: guard.require_key.then_some(Need::Required),
                keep: guard.keep.map(request::Keep::from),
                lease: guard.lease,
                run_max: guard.run_max,
                settles_within: guard.settles_within,
                retention: guard.retention,
                tombstone: guard.tombstone,
                wait: guard.wait,
                request_bytes_max: guard.request_bytes_max,
                answer_bytes_max: guard.answer_bytes_max,
                verify: guard.verify.clone(),
                ..RouteKeys::default()
            },
            ..ProxySection::default()
        }
    }
}

impl TenantArgs {
    fn keys(&self) -> Option<TenantKeys> {
        let tokens = (!self.tenant_tokens.is_empty()).then(|| self.tenant_tokens.clone());
        let header = self.tenant_header.clone();
        self.tenant
            .clone()
            .map(TenantKeys::One)
            .or(tokens.map(TenantKeys::Tokens))
            .or(header.map(|name| TenantKeys::Header(name, self.trusted_proxy.clone())))
    }
}

impl From<Keep> for request::Keep {
    fn from(keep: Keep) -> Self {
        match keep {
            Keep::All => Self::All,
            Keep::UnlessNothingHappened => Self::UnlessNothingHappened,
            Keep::Final => Self::Final,
        }
    }
}

/// A size of a body.
fn bytes(text: &str) -> Result<usize, String> {
    value::whole(text, 1..=BODY_BYTES_MAX)
}

/// `NAME=TOKEN`. The token is not repeated in a refusal.
fn token(text: &str) -> Result<(Tenant, String), String> {
    let Some((name, token)) = text.split_once('=') else {
        return Err("write NAME=TOKEN".to_owned());
    };
    let tenant = Tenant::new(name).map_err(|error| error.to_string())?;
    Ok((tenant, token.to_owned()))
}
