//! Marking deliveries: exactly those that a holder names, each under its epoch and only from the front of its line.

use surefoot_core::error::StoreError;
use surefoot_core::id::Epoch;
use surefoot_core::message::{DeliveryStateName, NextDelivery};
use surefoot_core::port::{Mark, Marked};

use super::ledger::Ledger;
use super::message_line::{Standing, give_back, move_up};
use super::row;

statements! {
    LINE = "-- mark: in which line a delivery stands
        select tenant, key, state, epoch, place from surefoot_delivery where sink = ?1 and number = ?2";
    DELIVERED = "-- mark: the sink has it
        update surefoot_delivery
        set state = 'delivered', standing = null, lease_until = null, since = ?4, proof = ?5
        where sink = ?1 and number = ?2 and epoch = ?3 and state = 'taken' and standing = 'front'";
    WAITING = "-- mark: it is tried again
        update surefoot_delivery
        set state = 'waiting', lease_until = null, due_at = ?4, error = coalesce(?5, error), failed = ?6
        where sink = ?1 and number = ?2 and epoch = ?3 and state = 'taken' and standing = 'front'";
    PARKED = "-- mark: a person decides
        update surefoot_delivery
        set state = 'parked', lease_until = null, since = ?4, error = ?5, failed = ?6
        where sink = ?1 and number = ?2 and epoch = ?3 and state = 'taken' and standing = 'front'";
}

/// Where a delivery stands.
struct Known {
    tenant: String,
    key: Option<String>,
    state: DeliveryStateName,
    epoch: Epoch,
    place: i64,
}

/// Writes down what became of a delivery.
pub(super) fn mark(ledger: &Ledger<'_>, mark: &Mark) -> Result<Marked, StoreError> {
    let (sink, number) = (&mark.delivery.sink, mark.delivery.number);
    let known = ledger.first(LINE, (sink.as_str(), number.0), |found| {
        Ok(Known {
            tenant: row::column(found, 0)?,
            key: row::column(found, 1)?,
            state: row::word(found, 2, DeliveryStateName::parse)?,
            epoch: Epoch(row::column(found, 3)?),
            place: row::column(found, 4)?,
        })
    })?;
    let Some(known) = known else {
        return Ok(Marked::Stale);
    };
    if !write(ledger, mark)? {
        return Ok(refused(&known, mark));
    }
    let standing = Standing {
        sink,
        place: known.place,
        tenant: &known.tenant,
        key: known.key.as_deref(),
    };
    match mark.next {
        NextDelivery::Delivered { .. } => move_up(ledger, &standing)?,
        NextDelivery::Waiting { .. } | NextDelivery::Parked { .. } => {
            give_back(ledger, &standing)?;
        }
    }
    Ok(Marked::Applied)
}

fn write(ledger: &Ledger<'_>, mark: &Mark) -> Result<bool, StoreError> {
    let sink = mark.delivery.sink.as_str();
    let (number, epoch) = (mark.delivery.number.0, mark.epoch.0);
    let written = match &mark.next {
        NextDelivery::Delivered { at, proof } => ledger.execute(
            DELIVERED,
            (sink, number, epoch, at.as_micros(), proof.as_str()),
        )?,
        NextDelivery::Waiting {
            due_at,
            error,
            failed,
        } => {
            let error = error.as_ref().map(|error| error.as_str());
            let due_at = due_at.as_micros();
            ledger.execute(WAITING, (sink, number, epoch, due_at, error, failed))?
        }
        NextDelivery::Parked { at, error, failed } => ledger.execute(
            PARKED,
            (sink, number, epoch, at.as_micros(), error.as_str(), failed),
        )?,
    };
    Ok(written == 1)
}

/// Why nothing was written: the same mark was written before, or it comes too late.
fn refused(known: &Known, mark: &Mark) -> Marked {
    let wrote = match mark.next {
        NextDelivery::Delivered { .. } => DeliveryStateName::Delivered,
        NextDelivery::Waiting { .. } => DeliveryStateName::Waiting,
        NextDelivery::Parked { .. } => DeliveryStateName::Parked,
    };
    if known.epoch == mark.epoch && known.state == wrote {
        Marked::Already
    } else {
        Marked::Stale
    }
}
