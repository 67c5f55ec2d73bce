//! What people order about parked deliveries. Each order is kept, and leaves with its message.

use surefoot_core::error::StoreError;
use surefoot_core::message::DeliveryStateName;
use surefoot_core::port::{By, DeliveryId, DeliverySteered, DeliveryVerb};
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::message_line::{Standing, move_up};
use super::row;

statements! {
    LINE = "-- again, skip: in which line a delivery stands
        select tenant, key, state, place from surefoot_delivery where sink = ?1 and number = ?2";
    AGAIN = "-- again: a parked delivery is tried again
        update surefoot_delivery set state = 'waiting', since = null, due_at = ?3, failed = 0, lost = 0
        where sink = ?1 and number = ?2 and state = 'parked'";
    SKIP = "-- skip: a parked delivery ends undelivered
        update surefoot_delivery set state = 'skipped', standing = null, since = ?3, actor = ?4, reason = ?5
        where sink = ?1 and number = ?2 and state = 'parked'";
    ORDER = "-- again, skip: who ordered it, and why
        insert into surefoot_delivery_order (number, place, sink, verb, at, actor, reason)
        select ?1, (select coalesce(max(place), 0) + 1 from surefoot_delivery_order where number = ?1), ?2, ?3, ?4, ?5, ?6";
}

/// Carries out an order on a parked delivery.
pub(super) fn steer(
    ledger: &Ledger<'_>,
    delivery: &DeliveryId,
    verb: DeliveryVerb,
    by: &By,
    now: Timestamp,
) -> Result<DeliverySteered, StoreError> {
    let (sink, number) = (delivery.sink.as_str(), delivery.number);
    let known = ledger.first(LINE, (sink, number.0), |found| {
        Ok((
            row::column::<String>(found, 0)?,
            row::column::<Option<String>>(found, 1)?,
            row::word(found, 2, DeliveryStateName::parse)?,
            row::column::<i64>(found, 3)?,
        ))
    })?;
    let Some((tenant, key, state, place)) = known else {
        return Ok(DeliverySteered::NotFound);
    };
    match state {
        DeliveryStateName::Parked => {}
        DeliveryStateName::Waiting
        | DeliveryStateName::Taken
        | DeliveryStateName::Delivered
        | DeliveryStateName::Skipped => return Ok(DeliverySteered::Refused(state)),
    }
    let (actor, reason) = (by.actor.as_str(), by.reason.as_str());
    match verb {
        DeliveryVerb::Again => ledger.execute_one(AGAIN, (sink, number.0, now.as_micros()))?,
        DeliveryVerb::Skip => {
            ledger.execute_one(SKIP, (sink, number.0, now.as_micros(), actor, reason))?;
            let ended = Standing {
                sink: &delivery.sink,
                place,
                tenant: &tenant,
                key: key.as_deref(),
            };
            move_up(ledger, &ended)?;
        }
    }
    let order = (
        number.0,
        sink,
        verb.as_str(),
        now.as_micros(),
        actor,
        reason,
    );
    ledger.execute_one(ORDER, order)?;
    Ok(DeliverySteered::Done)
}
