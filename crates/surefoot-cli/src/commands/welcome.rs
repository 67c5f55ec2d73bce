//! What `serve` says when it is ready: where it listens, and what to try next.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::json;
use surefoot::{Engine, JobPolicy};
use surefoot_core::id::Kind;

use super::database::Place;
use crate::config::{JobKind, duration};

/// What a program that starts `serve --json` reads.
pub(super) fn facts(
    place: &Place,
    address: SocketAddr,
    door: Option<SocketAddr>,
    engine: &Engine,
) -> serde_json::Value {
    json!({
        "listen": format!("http://{address}"),
        "proxy": door.map(|address| format!("http://{address}")),
        "database": place.shown(),
        "config": place.config_file.as_ref().map(|path| path.display().to_string()),
        "worker": engine.worker().to_string(),
        "kinds": place.config.kinds.keys().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// What a person reads: where it listens and what to try next.
pub(super) fn welcome(place: &Place, address: SocketAddr, door: Option<SocketAddr>) -> String {
    let config = match &place.config_file {
        Some(path) => path.display().to_string(),
        None => "none".to_owned(),
    };
    format!(
        "surefoot {version} listens on http://{address}\n\
         database  {database}\n\
         config    {config}\n\
         kinds     {kinds}\n\
         {door}\n\
         {next}\
         see it:\n  \
         {program} jobs list{options}\n",
        version = env!("CARGO_PKG_VERSION"),
        database = place.shown(),
        kinds = kinds(&place.config.kinds),
        door = door.map_or_else(String::new, |door| front_door(place, door)),
        next = what_next(place, address),
        program = program(),
        options = place.options(),
    )
}

fn front_door(place: &Place, address: SocketAddr) -> String {
    let section = place.config.proxy.as_ref();
    let upstream = section.and_then(|section| section.upstream.as_ref());
    let upstream = upstream.map(ToString::to_string).unwrap_or_default();
    format!("proxy     http://{address} before {upstream}\n")
}

/// The first job, by curl, which takes `--json` from version 7.82 on. It has no key, so that it is a new job each time.
fn what_next(place: &Place, address: SocketAddr) -> String {
    let token = if place.config.server.tokens.is_empty() {
        ""
    } else {
        " -H \"Authorization: Bearer $TOKEN\""
    };
    let post = |body: &str, path: &str| {
        format!("  curl{token} --json '{body}' http://{address}/v1/{path}\n")
    };
    let declared = place.config.kinds.first_key_value();
    let kind = declared.map_or("hello", |(kind, _)| kind.as_str());
    let payload = match declared {
        Some(_) => "{}",
        None => r#"{"name":"world"}"#,
    };
    let hand_in = post(
        &format!(r#"{{"kind":"{kind}","payload":{payload}}}"#),
        "jobs",
    );
    let hand_in = format!("hand in a job (curl 7.82 or later):\n{hand_in}");
    if let Some(request) = declared.and_then(|(_, declared)| declared.request.as_ref()) {
        let dependency = &request.dependency.name;
        return format!("{hand_in}this node calls {dependency} for it\n");
    }
    let claim = format!(r#"{{"worker":"me","kinds":["{kind}"],"max":1}}"#);
    let lease = declared.map_or_else(JobPolicy::default, |(_, declared)| declared.policy.clone());
    format!(
        "{hand_in}\
         take it as a worker:\n{claim}\
         within {lease} say that it is done, with job and epoch of that answer; later, take it again:\n{done}",
        claim = post(&claim, "leases"),
        lease = duration::written(lease.lease),
        done = post(
            r#"{"epoch":EPOCH,"result":"hello, world"}"#,
            "leases/JOB/succeed"
        ),
    )
}

/// What to type to run this program: its name where the shell finds it, else its path.
fn program() -> String {
    const NAME: &str = "surefoot";
    let Ok(running) = std::env::current_exe() else {
        return NAME.to_owned();
    };
    let searched = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&searched)
        .map(|folder| folder.join(NAME))
        .find(|candidate| candidate.is_file());
    let is_running = |found: PathBuf| {
        found
            .canonicalize()
            .is_ok_and(|found| Some(found) == running.canonicalize().ok())
    };
    if found.is_some_and(is_running) {
        NAME.to_owned()
    } else if running.display().to_string().contains(' ') {
        format!("'{}'", running.display())
    } else {
        running.display().to_string()
    }
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
