//! A contestant set up: its processes, and where it is reached.

use serde_json::Value;

use super::DoubleChargeOptions;
use crate::error::LabError;
use crate::place::Place;
use crate::process::Process;

/// A contestant; its processes end when this is dropped.
pub(super) struct Rig {
    url: String,
    _processes: Vec<Process>,
}

impl Rig {
    /// The service that checks and then acts.
    pub(super) async fn plain(
        options: &DoubleChargeOptions,
        place: &Place,
        provider: &str,
    ) -> Result<Self, LabError> {
        let (process, url) = service(options, &options.check_then_act, place, provider).await?;
        Ok(Self {
            url,
            _processes: vec![process],
        })
    }

    /// The service that only charges, behind Surefoot's proxy.
    pub(super) async fn guarded(
        options: &DoubleChargeOptions,
        place: &Place,
        provider: &str,
    ) -> Result<Self, LabError> {
        let (service, upstream) = service(options, &options.charge_only, place, provider).await?;
        let database = place.database().url();
        let arguments = [
            "proxy",
            "--json",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &upstream,
            "--database",
            &database,
            "--require-key",
        ];
        let log = place.folder().join("proxy.log");
        let (proxy, line) =
            Process::start(&options.program, &arguments, place.folder(), log).await?;
        let facts: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        let url = facts["listen"]
            .as_str()
            .ok_or_else(|| LabError::Odd(line.clone()))?;
        Ok(Self {
            url: url.to_owned(),
            _processes: vec![proxy, service],
        })
    }

    /// Where it is asked, without a slash at the end.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

/// A payment service, and its URL.
async fn service(
    options: &DoubleChargeOptions,
    arguments: &[String],
    place: &Place,
    provider: &str,
) -> Result<(Process, String), LabError> {
    let database = place.database().url();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend([database.as_str(), provider]);
    let log = place.folder().join("service.log");
    Process::start(&options.program, &arguments, place.folder(), log).await
}
