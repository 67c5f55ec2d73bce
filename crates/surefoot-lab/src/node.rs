//! A node of Surefoot as the lab runs it: its configuration, and how it is started.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::api::Api;
use crate::error::LabError;
use crate::process::Process;

/// The recovery of a kind, as a user declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The provider is asked by key before anything is sent again.
    Verify,
    /// Nothing is ever sent again; a person decides.
    AtMostOnce,
}

impl Recovery {
    /// The kind that is run so.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Verify => "refund_verified",
            Self::AtMostOnce => "refund_at_most_once",
        }
    }
}

/// How short the times are: calls end after a second and leases after two and a half, so that a fault is over in seconds.
/// A call takes effect when it arrives; three seconds are left for it because the host may be busy.
/// The breaker only counts: in the lab every call is meant to go out.
pub(crate) fn configuration(provider: &str) -> String {
    let kind = |recovery: Recovery, declared: &str| {
        format!(
            "[job.{}]\n\
             dependency = \"provider\"\n\
             request = {{ method = \"POST\", path = \"/refunds\" }}\n\
             recovery = {declared}\n\
             timeout = \"1500ms\"\n\
             lease = \"2500ms\"\n\
             attempts_max = 1000\n\
             crashes_max = 1000\n\
             backoff = [\"300ms\"]\n\n",
            recovery.kind()
        )
    };
    let verify = "{ verify = { method = \"GET\", path = \"/refunds/{key}\", happened = [200], did_not_happen = [404] }, \
                  settles_within = \"3s\", ask_every = [\"300ms\"], asks_max = 1000 }";
    format!(
        "[engine]\n\
         concurrency = 100\n\
         poll = \"200ms\"\n\n\
         [dependency.provider]\n\
         base_url = \"{provider}\"\n\
         timeout = {{ connect = \"500ms\", attempt = \"1s\" }}\n\
         breaker = {{ mode = \"metrics_only\" }}\n\n\
         {}{}",
        kind(Recovery::Verify, verify),
        kind(Recovery::AtMostOnce, "\"at_most_once\""),
    )
}

/// A running node.
pub(crate) struct Node {
    pub(crate) process: Process,
    pub(crate) api: Api,
}

impl Node {
    /// Starts one in a folder that holds a `surefoot.toml`, over `database`, and waits until it listens.
    pub(crate) async fn start(
        program: &Path,
        folder: &Path,
        database: &str,
        log: PathBuf,
    ) -> Result<Self, LabError> {
        let arguments = [
            "serve",
            "--json",
            "--listen",
            "127.0.0.1:0",
            "--database",
            database,
        ];
        let (process, line) = Process::start(program, &arguments, folder, log).await?;
        let facts: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        let url = facts["listen"].as_str().ok_or_else(|| LabError::Api {
            method: "GET",
            path: "(its first line)".to_owned(),
            said: line.clone(),
        })?;
        let api = Api::new(url.to_owned())?;
        Ok(Self { process, api })
    }
}
