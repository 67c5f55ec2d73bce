//! What `serve` says when it is ready: where it listens, and what to try next.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::json;
use surefoot::Engine;
use surefoot_core::id::Kind;

use super::database::Place;
use crate::config::JobKind;

/// What a program that starts `serve --json` reads.
pub(super) fn facts(place: &Place, address: SocketAddr, engine: &Engine) -> serde_json::Value {
    json!({
        "listen": format!("http://{address}"),
        "database": place.shown(),
        "config": place.config_file.as_ref().map(|path| path.display().to_string()),
        "worker": engine.worker().to_string(),
        "kinds": place.config.kinds.keys().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// What a person reads: where it listens and what to try next.
pub(super) fn welcome(place: &Place, address: SocketAddr) -> String {
    let config = match &place.config_file {
        Some(path) => path.display().to_string(),
        None => "none; without one, workers take jobs of any kind from /v1/leases".to_owned(),
    };
    let token = if place.config.server.tokens.is_empty() {
        ""
    } else {
        " -H \"Authorization: Bearer $TOKEN\""
    };
    format!(
        "surefoot {version} listens on http://{address}\n\
         database  {database}\n\
         config    {config}\n\
         kinds     {kinds}\n\
         \n\
         hand in a job:\n  \
         curl{token} --json '{{\"kind\":\"hello\",\"key\":\"hello-1\",\"payload\":{{\"name\":\"world\"}}}}' http://{address}/v1/jobs\n\
         take it as a worker:\n  \
         curl{token} --json '{{\"worker\":\"me\",\"kinds\":[\"hello\"],\"max\":1}}' http://{address}/v1/leases\n\
         say that it is done, with job and epoch of that answer:\n  \
         curl{token} --json '{{\"epoch\":1,\"result\":\"hello, world\"}}' http://{address}/v1/leases/JOB/succeed\n\
         see it: surefoot jobs list\n",
        version = env!("CARGO_PKG_VERSION"),
        database = place.shown(),
        kinds = kinds(&place.config.kinds),
    )
}

fn kinds(kinds: &BTreeMap<Kind, JobKind>) -> String {
    let each = |(kind, declared): (&Kind, &JobKind)| match &declared.request {
        Some(request) => format!("{kind} (calls {})", request.dependency.name),
        None => format!("{kind} (pull workers)"),
    };
    if kinds.is_empty() {
        "none declared".to_owned()
    } else {
        kinds.iter().map(each).collect::<Vec<_>>().join(", ")
    }
}
