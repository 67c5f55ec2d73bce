//! Taking deliveries: who is in front and due, with those behind it. A number says nothing of what was delivered; the state of
//! each delivery does.

use rusqlite::Connection;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, SinkName};
use surefoot_core::message::{DeliveryStateName, MessageNumber};
use surefoot_core::port::{Departed, Departure, TAKE_MAX, Take, TakenDelivery, TakenKey};
use surefoot_core::time::Timestamp;

use super::ledger::{Ledger, first};
use super::message::{MESSAGE_COLUMNS, message, message_columns};
use super::message_line::{Standing, behind, give_back};
use super::row;

statements! {
    FRONTS = "-- take: in front and due, the longest due first
        select number, tenant, key, state, place from surefoot_delivery indexed by surefoot_delivery_front
        where sink = ?1 and standing = 'front' and state in ('waiting', 'taken') and due_at <= ?2
            and (state = 'waiting' or lease_until <= ?2)
        order by due_at, number limit ?3";
    IS_ANY = "-- take: whether anything is in front and due
        select 1 from surefoot_delivery indexed by surefoot_delivery_front
        where sink = ?1 and standing = 'front' and state in ('waiting', 'taken') and due_at <= ?2
            and (state = 'waiting' or lease_until <= ?2)
        limit 1";
    EPOCH = "-- take: an epoch that was never given
        update surefoot_delivery_epoch set latest = latest + 1 returning latest";
    TAKE = "-- take: a delivery has a holder
        update surefoot_delivery
        set state = 'taken', epoch = ?3, holder = ?4, lease_until = ?5,
            lost = lost + (?6 and (lost = 0 or departed = epoch))
        where sink = ?1 and number = ?2 and state in ('waiting', 'taken')";
    DEPART = "-- depart: it is about to leave
        update surefoot_delivery set departed = epoch
        where sink = ?1 and number = ?2 and epoch = ?3 and state = 'taken' and standing = 'front'";
    TAKEN = concat!("-- take: what is to be delivered
        select ", message_columns!(), ", d.failed, d.lost
        from surefoot_delivery as d join surefoot_message as m on m.number = d.number
        where d.sink = ?1 and d.number = ?2");
}

/// Who stands in front and may be taken.
struct Front {
    number: MessageNumber,
    tenant: String,
    key: Option<String>,
    place: i64,
    /// Its lease has ended.
    lapsed: bool,
}

/// Whether there may be something to take.
pub(super) fn is_any(
    connection: &Connection,
    sink: &SinkName,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let asked = (sink.as_str(), now.as_micros());
    Ok(first(connection, IS_ANY, asked, |_| Ok(()))?.is_some())
}

/// Takes deliveries for a holder.
pub(super) fn take(
    ledger: &Ledger<'_>,
    take: &Take,
    now: Timestamp,
) -> Result<Vec<TakenKey>, StoreError> {
    let asked = (
        take.sink.as_str(),
        now.as_micros(),
        take.keys_max.min(TAKE_MAX),
    );
    let fronts = ledger.rows(FRONTS, asked, |found| {
        Ok(Front {
            number: MessageNumber(row::column(found, 0)?),
            tenant: row::column(found, 1)?,
            key: row::column(found, 2)?,
            place: row::column(found, 4)?,
            lapsed: row::word(found, 3, DeliveryStateName::parse)? == DeliveryStateName::Taken,
        })
    })?;
    let mut left = TAKE_MAX as usize;
    let mut taken = Vec::new();
    for front in fronts {
        let of_key = left.min(take.per_key_max.max(1) as usize);
        if of_key == 0 {
            break;
        }
        let key = take_key(ledger, take, &front, of_key, now)?;
        left -= key.deliveries.len();
        taken.push(key);
    }
    Ok(taken)
}

/// Writes down that a delivery is about to leave.
pub(super) fn depart(ledger: &Ledger<'_>, departure: &Departure) -> Result<Departed, StoreError> {
    let (sink, number) = (&departure.delivery.sink, departure.delivery.number);
    let written = ledger.execute(DEPART, (sink.as_str(), number.0, departure.epoch.0))?;
    Ok(match written {
        0 => Departed::Stale,
        _ => Departed::Applied,
    })
}

fn take_key(
    ledger: &Ledger<'_>,
    take: &Take,
    front: &Front,
    of_key: usize,
    now: Timestamp,
) -> Result<TakenKey, StoreError> {
    let lease_until = now.after(take.lease);
    let standing = Standing {
        sink: &take.sink,
        place: front.place,
        tenant: &front.tenant,
        key: front.key.as_deref(),
    };
    if front.lapsed {
        give_back(ledger, &standing)?;
    }
    let epoch = next_epoch(ledger)?;
    let mut deliveries = vec![take_one(
        ledger,
        take,
        (front.number, front.lapsed),
        epoch,
        lease_until,
    )?];
    for number in behind(ledger, &standing, of_key - 1)? {
        deliveries.push(take_one(ledger, take, (number, false), epoch, lease_until)?);
    }
    Ok(TakenKey {
        epoch,
        lease_until,
        deliveries,
    })
}

fn next_epoch(ledger: &Ledger<'_>) -> Result<Epoch, StoreError> {
    ledger
        .first(EPOCH, (), |found| row::column(found, 0).map(Epoch))?
        .ok_or_else(|| StoreError::Broken("the row of the latest epoch is not there".to_owned()))
}

fn take_one(
    ledger: &Ledger<'_>,
    take: &Take,
    (number, lapsed): (MessageNumber, bool),
    epoch: Epoch,
    lease_until: Timestamp,
) -> Result<TakenDelivery, StoreError> {
    ledger.execute_one(
        TAKE,
        (
            take.sink.as_str(),
            number.0,
            epoch.0,
            take.holder.as_str(),
            lease_until.as_micros(),
            lapsed,
        ),
    )?;
    let found = ledger.first(TAKEN, (take.sink.as_str(), number.0), |found| {
        let (number, message) = message(found)?;
        Ok(TakenDelivery {
            number,
            message,
            failed: row::count(found, MESSAGE_COLUMNS)?,
            lost: row::count(found, MESSAGE_COLUMNS + 1)?,
        })
    })?;
    found.ok_or_else(|| {
        StoreError::Broken(format!(
            "delivery {} to {} has no message",
            number.0, take.sink
        ))
    })
}
