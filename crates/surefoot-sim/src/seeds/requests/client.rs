//! A client that asks once, and what it was told; and a person who looks at what is not known.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use surefoot_core::effect::Witness;
use surefoot_core::id::Actor;
use surefoot_core::port::{By, RequestFilter, Requests};
use surefoot_core::request::RequestStateName;
use surefoot_core::time::Clock;
use surefoot_http::mark::{IDEMPOTENCY_ERROR, IDEMPOTENCY_KEY, IDEMPOTENCY_STATUS};
use surefoot_http::{Resolved, resolve};
use surefoot_testkit::MemoryStore;
use tower::ServiceExt;

use super::super::gate::Gate;
use super::super::log::Log;
use super::super::tally::Happened;
use super::super::time::WorldTime;
use super::door::Guarded;
use super::ledger::Ledger;
use super::plan::Ask;
use super::service::verdict;

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::seeds) struct Told {
    pub(super) key: u32,
    pub(super) status: u16,
    pub(super) mark: String,
    pub(super) error: String,
    pub(super) body: Vec<u8>,
}

pub(super) fn name(key: u32) -> String {
    format!("key-{key}")
}

fn request(ask: &Ask) -> Option<Request<Full<Bytes>>> {
    let amount = if ask.other_body { 2 } else { 1 };
    Request::builder()
        .method(Method::POST)
        .uri("/charges")
        .header(CONTENT_TYPE, "application/json")
        .header(IDEMPOTENCY_KEY, name(ask.key))
        .body(Full::from(format!("{{\"amount\":{amount}}}")))
        .ok()
}

/// Asks once; what is told is written down, unless the process dies first or the client goes away.
pub(super) async fn ask(guarded: Guarded, ask: Ask, gate: Gate, log: Log) {
    let Some(request) = request(&ask) else { return };
    let answering = async {
        let Ok(response) = guarded.oneshot(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes().to_vec();
        let text = |name| {
            let value = head.headers.get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        Some(Told {
            key: ask.key,
            status: head.status.as_u16(),
            mark: text(IDEMPOTENCY_STATUS).unwrap_or_default(),
            error: text(IDEMPOTENCY_ERROR).unwrap_or_default(),
            body,
        })
    };
    let patience = ask.leaves_after.unwrap_or(Duration::from_secs(300));
    let Ok(told) = tokio::time::timeout(patience, answering).await else {
        log.count(Happened::DoorLeft);
        return;
    };
    // A process that is dead tells nothing.
    gate.open().await;
    let Some(told) = told else { return };
    log.count(word(&told));
    log.line(format_args!("told {told:?}"));
    log.with(|state| state.told.push(told));
}

fn word(told: &Told) -> Happened {
    match (told.mark.as_str(), told.error.as_str()) {
        ("executed", "") => Happened::DoorExecuted,
        ("replayed", "") => Happened::DoorReplayed,
        ("replayed", _) => Happened::DoorNotKept,
        (_, "outstanding") => Happened::DoorOutstanding,
        (_, "outcome-unknown") => Happened::DoorUnknown,
        (_, "key-reused") => Happened::DoorMismatch,
        (_, "store-unavailable") => Happened::DoorRefused,
        (_, "not-recorded") => Happened::DoorNotRecorded,
        _ => Happened::DoorOther,
    }
}

/// A person looks at requests whose outcome is not known, and says what the ledger of the service says.
pub(super) async fn inspect(store: MemoryStore, ledger: Ledger, time: WorldTime, log: Log) {
    let open = [RequestStateName::Unknown, RequestStateName::NeedsHuman];
    let all = store.requests(&RequestFilter::default(), None, 100).await;
    for head in all.unwrap_or_default() {
        if !open.contains(&head.state) {
            continue;
        }
        let found = ledger.effects(head.identity.key.as_str());
        let said = verdict(found.first().map(|effect| effect.body.as_str()));
        let Ok(actor) = Actor::new("person") else {
            return;
        };
        let by = By {
            actor,
            reason: "looked into the ledger".into(),
        };
        let now = Clock::now(&time);
        let resolved = resolve(&store, &head.identity, said, Witness::Person(by), now).await;
        if matches!(resolved, Ok(Resolved::Settled(_))) {
            log.count(Happened::DoorResolved);
        }
        log.line(format_args!("a person looked at {}", head.identity.key));
    }
}
