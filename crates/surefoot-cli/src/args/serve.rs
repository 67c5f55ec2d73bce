//! `serve`.

use std::net::SocketAddr;

use super::value;
use crate::config::LogFormat;

/// Arguments of `serve`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Where the API listens; port 0 takes a free one [default: 127.0.0.1:7070]
    #[arg(long, env = "SUREFOOT_LISTEN", value_name = "ADDRESS", value_parser = value::address)]
    pub(crate) listen: Option<SocketAddr>,
    /// What logs look like [default: text]
    #[arg(long, env = "SUREFOOT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Log what the policy of each dependency amounts to
    #[arg(long)]
    pub(crate) explain: bool,
}
