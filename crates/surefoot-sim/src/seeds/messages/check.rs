//! The invariants of messages, by their names: some when a sink is given one, some while a world runs, all at its end.

use futures_util::FutureExt;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::{DeliveryState, Message};
use surefoot_core::port::{Mark, Marked, Messages};

use super::super::log::Log;
use super::ledger::{Committed, Ledger, To};
use super::node::{LOSSES_MAX, SINKS, Shared, sink_name};

/// No mark applies but that of who holds the delivery.
pub(super) fn no_zombie_write(log: &Log, ledger: &Ledger, marks: &[Mark], marked: &[Marked]) {
    for (mark, marked) in marks.iter().zip(marked) {
        let held = ledger.held(&mark.delivery);
        if *marked == Marked::Applied && held != Some(mark.epoch) {
            log.breaks(
                "no-zombie-write",
                format_args!("{mark:?} applies, and {held:?} has it"),
            );
        }
    }
}

/// The state of a delivery; `None` when it is not on record, because it was forgotten.
fn state(shared: &Shared, sink: &SinkName, id: &str) -> Option<DeliveryState> {
    let id = MessageId::new(id).ok()?;
    // The store in memory answers at once.
    let record = shared
        .store
        .message(&Tenant::single(), &id)
        .now_or_never()?;
    let mut deliveries = record.ok()??.deliveries.into_iter();
    deliveries
        .find(|delivery| delivery.sink == *sink)
        .map(|delivery| delivery.state)
}

/// Nothing goes to a sink before what was committed under its key earlier has ended there.
pub(super) fn order_kept(shared: &Shared, sink: &SinkName, message: &Message) {
    let is_it = |one: &&Committed| one.id != message.id.as_str();
    let committed = shared.ledger.committed();
    let earlier = committed.iter().take_while(is_it);
    for one in earlier.filter(|one| one.key.is_some() && one.key == message.key) {
        if let Some(state) = state(shared, sink, &one.id)
            && !state.name().is_ended()
        {
            let (id, name) = (&message.id, state.name().as_str());
            shared.log.breaks(
                "order-kept",
                format_args!("{id} goes to {sink} while {} is {name}", one.id),
            );
        }
    }
}

/// What must hold at any time.
pub(super) fn at_any_time(shared: &Shared) {
    each(shared, |shared, to, state| {
        let applied = shared.ledger.applied(to);
        if applied > 1 {
            shared.log.breaks(
                "no-double-effect",
                format_args!("{} applied {} {applied} times", to.0, to.1),
            );
        }
        match state {
            Some(DeliveryState::Delivered { .. }) if applied == 0 => shared.log.breaks(
                "no-lost-intent",
                format_args!(
                    "{} is delivered to {}, which has not applied it",
                    to.1, to.0
                ),
            ),
            Some(DeliveryState::Parked { error, .. }) => parked(shared, to, error.as_str()),
            Some(
                DeliveryState::Delivered { .. }
                | DeliveryState::Skipped { .. }
                | DeliveryState::Waiting { .. }
                | DeliveryState::Taken { .. },
            )
            | None => {}
        }
    });
}

/// What is parked was given to its sink, or was about to leave as often as that must be lost; and a person sees it.
fn parked(shared: &Shared, to: &To, error: &str) {
    let listed = shared.store.parked(Some(&to.0), None, 1000).now_or_never();
    let listed = listed.and_then(Result::ok).unwrap_or_default();
    let mut listed = listed.into_iter();
    let Some(parked) = listed.find(|parked| parked.message.id.as_str() == to.1) else {
        shared.log.breaks(
            "no-lost-intent",
            format_args!("{} to {} is parked, and nobody is shown it", to.1, to.0),
        );
        return;
    };
    let left = shared.ledger.departed(&parked.delivery);
    if shared.ledger.given(to) == 0 && left < LOSSES_MAX - 1 {
        shared.log.breaks(
            "no-lost-intent",
            format_args!("{} is parked ({error}), and never left for {}", to.1, to.0),
        );
    }
}

/// What must hold when all is quiet.
pub(super) fn at_the_end(shared: &Shared) {
    at_any_time(shared);
    each(shared, |shared, to, state| {
        let is_ended = state.is_none_or(|state| state.name().is_ended());
        let is_applied = shared.ledger.applied(to) == 1 || shared.ledger.is_skipped(to);
        if !is_ended || !is_applied {
            let state = state.map(|state| state.name().as_str());
            shared.log.breaks(
                "no-lost-intent",
                format_args!(
                    "{} to {} ends as {state:?}, applied: {is_applied}",
                    to.1, to.0
                ),
            );
        }
    });
}

/// Whether nothing is open any more.
pub(super) fn is_over(shared: &Shared) -> bool {
    let mut over = true;
    each(shared, |_, _, state| {
        over &= state.is_none_or(|state| state.name().is_ended());
    });
    over
}

fn each(shared: &Shared, mut visit: impl FnMut(&Shared, &To, Option<&DeliveryState>)) {
    for one in shared.ledger.committed() {
        for name in SINKS {
            let Some(sink) = sink_name(name) else {
                continue;
            };
            let state = state(shared, &sink, &one.id);
            visit(shared, &(sink, one.id.clone()), state.as_ref());
        }
    }
}
