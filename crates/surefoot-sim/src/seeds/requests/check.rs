//! The invariants of requests, by their names: some while a world runs, all at its end.

use std::collections::BTreeMap;

use surefoot_core::id::Tenant;
use surefoot_core::port::Requests;
use surefoot_core::request::{Identity, Keep, Kept, Request, RequestKey, RequestState};

use super::client::{Told, name};
use super::door::Shared;
use super::plan::Plan;

/// What is on record under each key.
pub(super) async fn see(shared: &Shared, plan: &Plan) -> BTreeMap<u32, Request> {
    let mut all = BTreeMap::new();
    for key in 0..plan.keys {
        let Ok(text) = RequestKey::new(name(key)) else {
            continue;
        };
        let identity = Identity {
            tenant: Tenant::single(),
            key: text,
        };
        let known = shared.store.request(&identity).await;
        all.extend(known.ok().flatten().map(|known| (key, known)));
    }
    all
}

/// What must hold at any time.
pub(super) fn at_any_time(shared: &Shared, plan: &Plan, seen: &BTreeMap<u32, Request>) {
    for key in 0..plan.keys {
        let effects = shared.ledger.effects(&name(key));
        if effects.len() > 1 {
            shared.log.breaks(
                "no-double-effect",
                format_args!("{} took effect {} times", name(key), effects.len()),
            );
        }
    }
    for (key, request) in seen {
        let happened = !shared.ledger.effects(&name(*key)).is_empty();
        if happened && matches!(request.state, RequestState::Released { .. }) {
            shared.log.breaks(
                "honest-unknown",
                format_args!("{} took effect and is free to run again", name(*key)),
            );
        }
    }
}

/// What must hold when all is quiet and everybody has asked once more.
pub(super) fn at_the_end(shared: &Shared, plan: &Plan, seen: &BTreeMap<u32, Request>) {
    at_any_time(shared, plan, seen);
    let told = shared.log.with(|state| std::mem::take(&mut state.told));
    for (key, request) in seen {
        no_lost_intent(shared, *key, request);
        one_outcome(shared, plan, *key, &told);
    }
    for told in &told {
        if told.error == "store-unavailable" || seen.contains_key(&told.key) {
            continue;
        }
        shared.log.breaks(
            "no-lost-intent",
            format_args!("{told:?} and nothing is on record"),
        );
    }
}

/// Everything that was claimed has an answer by now, and one that says it happened is right.
fn no_lost_intent(shared: &Shared, key: u32, request: &Request) {
    let happened = !shared.ledger.effects(&name(key)).is_empty();
    let RequestState::Finished { kept, .. } = &request.state else {
        shared.log.breaks(
            "no-lost-intent",
            format_args!("{} ends as {:?}", name(key), request.state),
        );
        return;
    };
    let says = match kept {
        Kept::Response(response) => response.status == 201,
        Kept::Tombstone(tombstone) => tombstone.status == 200,
    };
    if says != happened && kept.status() < 400 {
        shared.log.breaks(
            "no-lost-intent",
            format_args!(
                "{} is answered {}, and happened: {happened}",
                name(key),
                kept.status()
            ),
        );
    }
}

/// Every replay is the same, and the same as what the run was answered whose answer is kept.
fn one_outcome(shared: &Shared, plan: &Plan, key: u32, told: &[Told]) {
    let mine = told.iter().filter(|told| told.key == key);
    let (executed, replayed): (Vec<_>, Vec<_>) = mine
        .filter(|told| !told.mark.is_empty())
        .partition(|told| told.mark == "executed");
    let Some(first) = replayed.first() else {
        return;
    };
    for other in &replayed {
        if (other.status, &other.error, &other.body) != (first.status, &first.error, &first.body) {
            shared.log.breaks(
                "one-outcome",
                format_args!("{} was answered {first:?} and {other:?}", name(key)),
            );
        }
    }
    for run in executed.iter().filter(|run| run.error.is_empty()) {
        if is_kept(plan, run.status)
            && first.error.is_empty()
            && (run.status, &run.body) != (first.status, &first.body)
        {
            shared.log.breaks(
                "one-outcome",
                format_args!("{} was answered {run:?} and then {first:?}", name(key)),
            );
        }
    }
}

/// Whether an answer of this status is one that is kept; 502 comes of what was not begun, 402 of what says that nothing
/// happened.
fn is_kept(plan: &Plan, status: u16) -> bool {
    match plan.keep {
        Keep::All => status != 502,
        Keep::UnlessNothingHappened => !matches!(status, 402 | 502),
        Keep::Final => status < 500 && status != 402,
    }
}
