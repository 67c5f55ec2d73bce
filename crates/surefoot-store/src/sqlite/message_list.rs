//! Messages as people see them: one with all its deliveries, what is parked, what is open.

use rusqlite::{Connection, Row};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, MessageId, SinkName, Tenant};
use surefoot_core::message::{Delivery, DeliveryState, DeliveryStateName, MessageNumber, Proof};
use surefoot_core::port::{
    DeliveryId, DeliveryOrder, DeliveryVerb, MESSAGE_ORDERS_MAX, MessageRecord, PAGE_MAX,
    ParkedDelivery, SinkDepth,
};
use surefoot_core::text::ErrorText;

use super::ledger::{first, rows};
use super::message::{MESSAGE_COLUMNS, by_id, message, message_columns};
use super::row;

statements! {
    DELIVERIES = "-- message: its deliveries
        select sink, number, failed, lost, state, due_at, error, holder, epoch, lease_until, since, proof, actor, reason
        from surefoot_delivery indexed by surefoot_delivery_message where number = ?1 order by sink";
    ORDERS = "-- message: what people ordered, the latest first
        select sink, verb, at, actor, reason from surefoot_delivery_order where number = ?1 order by place desc limit ?2";
    PARKED = concat!("-- parked: of every sink
        select ", message_columns!(), ", d.sink, d.failed, d.lost, d.since, d.error
        from surefoot_delivery as d indexed by surefoot_delivery_parked
        join surefoot_message as m on m.number = d.number
        where d.state = 'parked' and (d.number, d.sink) > (?1, ?2) order by d.number, d.sink limit ?3");
    PARKED_OF = concat!("-- parked: of one sink
        select ", message_columns!(), ", d.sink, d.failed, d.lost, d.since, d.error
        from surefoot_delivery as d indexed by surefoot_delivery_open
        join surefoot_message as m on m.number = d.number
        where d.sink = ?1 and d.state = 'parked' and d.standing is not null and (d.number, d.sink) > (?2, ?3)
        order by d.number limit ?4");
    NEXT_SINK = "-- message_depth: the next sink by name
        select min(sink) from (
            select min(sink) as sink from surefoot_subscription indexed by surefoot_subscription_sink where sink > ?1
            union all
            select min(sink) from surefoot_delivery indexed by surefoot_delivery_open
            where sink > ?1 and standing is not null)";
    COUNT = "-- message_depth: of one sink and state
        select count(*), min(number), min(since) from surefoot_delivery indexed by surefoot_delivery_open
        where sink = ?1 and state = ?2 and standing is not null";
    APPENDED_AT = "-- message_depth: when a message was appended
        select appended_at from surefoot_message where number = ?1";
}

/// One message with all that is on record about it.
pub(super) fn record(
    connection: &Connection,
    tenant: &Tenant,
    id: &MessageId,
) -> Result<Option<MessageRecord>, StoreError> {
    let Some((number, message)) = by_id(connection, tenant, id)? else {
        return Ok(None);
    };
    let mut orders = rows(
        connection,
        ORDERS,
        (number.0, MESSAGE_ORDERS_MAX),
        |found| {
            Ok(DeliveryOrder {
                sink: row::name(found, 0)?,
                verb: row::word(found, 1, DeliveryVerb::parse)?,
                at: row::time(found, 2)?,
                by: row::by(found, 3)?,
            })
        },
    )?;
    orders.reverse();
    Ok(Some(MessageRecord {
        number,
        message,
        deliveries: rows(connection, DELIVERIES, [number.0], delivery)?,
        orders,
    }))
}

fn delivery(found: &Row<'_>) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        sink: row::name(found, 0)?,
        number: MessageNumber(row::column(found, 1)?),
        failed: row::count(found, 2)?,
        lost: row::count(found, 3)?,
        state: match row::word(found, 4, DeliveryStateName::parse)? {
            DeliveryStateName::Waiting => DeliveryState::Waiting {
                due_at: row::time(found, 5)?,
                error: row::column::<Option<String>>(found, 6)?.map(ErrorText::from),
            },
            DeliveryStateName::Taken => DeliveryState::Taken {
                holder: row::name(found, 7)?,
                epoch: Epoch(row::column(found, 8)?),
                lease_until: row::time(found, 9)?,
            },
            DeliveryStateName::Delivered => DeliveryState::Delivered {
                at: row::time(found, 10)?,
                proof: Proof::new(row::column::<String>(found, 11)?),
            },
            DeliveryStateName::Parked => DeliveryState::Parked {
                at: row::time(found, 10)?,
                error: row::text(found, 6)?,
            },
            DeliveryStateName::Skipped => DeliveryState::Skipped {
                at: row::time(found, 10)?,
                by: row::by(found, 12)?,
            },
        },
    })
}

/// Parked deliveries, by number and sink.
pub(super) fn parked(
    connection: &Connection,
    sink: Option<&SinkName>,
    after: Option<&DeliveryId>,
    limit: u32,
) -> Result<Vec<ParkedDelivery>, StoreError> {
    let limit = limit.min(PAGE_MAX);
    let (number, name) = after.map_or((i64::MIN, ""), |after| {
        (after.number.0, after.sink.as_str())
    });
    match sink {
        None => rows(connection, PARKED, (number, name, limit), parked_delivery),
        Some(sink) => {
            let asked = (sink.as_str(), number, name, limit);
            rows(connection, PARKED_OF, asked, parked_delivery)
        }
    }
}

fn parked_delivery(found: &Row<'_>) -> Result<ParkedDelivery, StoreError> {
    let (number, message) = message(found)?;
    Ok(ParkedDelivery {
        delivery: DeliveryId {
            number,
            sink: row::name(found, MESSAGE_COLUMNS)?,
        },
        message,
        failed: row::count(found, MESSAGE_COLUMNS + 1)?,
        lost: row::count(found, MESSAGE_COLUMNS + 2)?,
        at: row::time(found, MESSAGE_COLUMNS + 3)?,
        error: row::text(found, MESSAGE_COLUMNS + 4)?,
    })
}

/// What is open for each sink, by name.
pub(super) fn depth(connection: &Connection) -> Result<Vec<SinkDepth>, StoreError> {
    let mut all = Vec::new();
    let mut last = String::new();
    while all.len() < PAGE_MAX as usize {
        let next = first(connection, NEXT_SINK, [&last], |found| {
            row::name_if_any::<SinkName>(found, 0)
        })?;
        let Some(sink) = next.flatten() else { break };
        last = sink.as_str().to_owned();
        all.push(depth_of(connection, sink)?);
    }
    Ok(all)
}

fn depth_of(connection: &Connection, sink: SinkName) -> Result<SinkDepth, StoreError> {
    let count = |state: DeliveryStateName| {
        let found = first(
            connection,
            COUNT,
            (sink.as_str(), state.as_str()),
            |found| {
                let count: i64 = row::column(found, 0)?;
                Ok((
                    u64::try_from(count).unwrap_or(0),
                    row::column::<Option<i64>>(found, 1)?,
                    row::column::<Option<i64>>(found, 2)?,
                ))
            },
        )?;
        found.ok_or_else(|| StoreError::Broken("a count answered no row".to_owned()))
    };
    let (waiting, first_waiting, _) = count(DeliveryStateName::Waiting)?;
    let (taken, first_taken, _) = count(DeliveryStateName::Taken)?;
    let (parked, first_parked, oldest_parked) = count(DeliveryStateName::Parked)?;
    let lowest = [first_waiting, first_taken, first_parked]
        .into_iter()
        .flatten()
        .min();
    let oldest = match lowest {
        None => None,
        Some(number) => first(connection, APPENDED_AT, [number], |found| {
            row::time(found, 0)
        })?,
    };
    Ok(SinkDepth {
        sink,
        waiting,
        taken,
        parked,
        oldest,
        oldest_parked: oldest_parked.map(surefoot_core::time::Timestamp::from_micros),
    })
}
