//! `proxy`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http::{HeaderName, Uri};
use surefoot_core::id::Tenant;

use super::value;
use crate::config::LogFormat;

/// Arguments of `proxy`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// The service to stand in front of, such as http://127.0.0.1:3000
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Uri,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = value::address, default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// What logs look like [default: text]
    #[arg(long, env = "SUREFOOT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    #[command(flatten)]
    pub(crate) guard: GuardArgs,
    #[command(flatten)]
    pub(crate) tenants: TenantArgs,
}

/// How requests are guarded.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct GuardArgs {
    /// Refuse POST, PUT, PATCH and DELETE without an Idempotency-Key
    #[arg(long)]
    pub(crate) require_key: bool,
    /// Which answers are kept and replayed
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) keep: Keep,
    /// How long the service may take to begin its answer; after that the outcome is unknown
    #[arg(long, value_name = "DURATION", value_parser = value::duration, default_value = "60s")]
    pub(crate) upstream_timeout: Duration,
    /// How long a repetition waits for the request that is under way before it is told 409
    #[arg(long, value_name = "DURATION", value_parser = value::duration, default_value = "0s")]
    pub(crate) wait: Duration,
    /// How long a run holds its key without a sign of life from this process
    #[arg(long, value_name = "DURATION", value_parser = value::duration, default_value = "60s")]
    pub(crate) lease: Duration,
    /// How long after the lease what was sent can still take effect
    #[arg(long, value_name = "DURATION", value_parser = value::duration, default_value = "60s")]
    pub(crate) settles_within: Duration,
    /// How long answers are kept
    #[arg(long, value_name = "DURATION", value_parser = value::duration, default_value = "24h")]
    pub(crate) retention: Duration,
    /// How long a key stays taken
    #[arg(long, value_name = "DURATION", value_parser = value::duration, default_value = "7d")]
    pub(crate) tombstone: Duration,
    /// Where to ask by GET what became of a request whose outcome is unknown: an http:// address of the service that
    /// answers with the header surefoot-outcome: happened, nothing-happened or unknown. Without it a person decides
    #[arg(long, value_name = "URL")]
    pub(crate) verify: Option<Uri>,
}

/// Which answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Keep {
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
pub(crate) struct TenantArgs {
    /// The one tenant of all requests; only on loopback
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) tenant: Tenant,
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
    pub(crate) tenant_tokens: Vec<(Tenant, String)>,
    /// The header in which a proxy in front names the tenant that it verified
    #[arg(long, value_name = "HEADER", requires = "trusted_proxy")]
    pub(crate) tenant_header: Option<HeaderName>,
    /// The address of such a proxy; give it once for each
    #[arg(long, value_name = "IP", requires = "tenant_header")]
    pub(crate) trusted_proxy: Vec<IpAddr>,
}

/// `NAME=TOKEN`. The token is not repeated in a refusal.
fn token(text: &str) -> Result<(Tenant, String), String> {
    let Some((name, token)) = text.split_once('=') else {
        return Err("write NAME=TOKEN".to_owned());
    };
    let tenant = Tenant::new(name).map_err(|error| error.to_string())?;
    Ok((tenant, token.to_owned()))
}
