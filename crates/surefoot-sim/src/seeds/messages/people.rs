//! People who look at what is parked, mend what made it impossible and have it tried again, or skip it.

use futures_util::FutureExt;
use surefoot_core::id::Actor;
use surefoot_core::port::{By, DeliverySteered, Messages};

use super::super::dice::dice;
use super::super::tally::Happened;
use super::node::Shared;

/// One in so many is skipped.
const SKIPPED_ONE_IN: u32 = 4;

/// A person looks, in this window.
pub(super) fn look(shared: &Shared, window: u32) {
    let Ok(actor) = Actor::new("ada") else {
        return;
    };
    let by = By {
        actor,
        reason: "looked at it".into(),
    };
    let now = shared.time.now();
    // The store in memory answers at once.
    let parked = shared.store.parked(None, None, 1000).now_or_never();
    for one in parked.and_then(Result::ok).unwrap_or_default() {
        let (sink, id) = (
            one.delivery.sink.clone(),
            one.message.id.as_str().to_owned(),
        );
        let mut rng = dice(shared.seed, ("person", window, sink.as_str(), &id));
        let to = (sink, id);
        let (what, steered) = if rng.u32(0..SKIPPED_ONE_IN) == 0 {
            let steered = shared.store.skip(&one.delivery, &by, now).now_or_never();
            shared.ledger.skip(&to);
            (Happened::MessageSkipped, steered)
        } else {
            shared.ledger.mend(&to);
            let steered = shared.store.again(&one.delivery, &by, now).now_or_never();
            (Happened::MessageAgain, steered)
        };
        shared
            .log
            .line(format_args!("{what:?} {} to {}", to.1, to.0));
        match steered {
            Some(Ok(DeliverySteered::Done)) => shared.log.count(what),
            Some(Ok(DeliverySteered::Refused(_) | DeliverySteered::NotFound) | Err(_)) | None => {
                shared.log.breaks(
                    "no-lost-intent",
                    format_args!("a person cannot steer {} to {}", to.1, to.0),
                );
            }
        }
    }
}
