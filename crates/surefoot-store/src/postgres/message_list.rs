//! Messages as people see them: one with all its deliveries, what is parked, what is open; and what leaves.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, MessageId, SinkName, Tenant};
use surefoot_core::message::{Delivery, DeliveryState, DeliveryStateName, MessageNumber, Proof};
use surefoot_core::port::{
    BATCH_MAX, By, DeliveryId, DeliveryOrder, DeliveryVerb, ForgottenMessages, MESSAGE_ORDERS_MAX,
    MessageRecord, PAGE_MAX, ParkedDelivery, SinkDepth,
};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::fault::broken;
use super::message::{by_id, message_columns, read};
use super::message_deliver::count;
use super::row::{column, parsed};

statements! {
    DELIVERIES = "-- message: its deliveries
        select sink, number, failed, lost, state, due_at, error, holder, epoch, lease_until, since, proof, actor, reason
        from surefoot.delivery where number = $1 order by sink";
    ORDERS = "-- message: what people ordered, the latest first
        select sink, verb, at, actor, reason from surefoot.delivery_order where number = $1 order by place desc limit $2";
    PARKED = concat!("-- parked: of every sink
        select ", message_columns!(), ", d.sink, d.failed, d.lost, d.since, d.error
        from surefoot.delivery d join surefoot.message m on m.number = d.number
        where d.state = 'parked' and (d.number, d.sink) > ($1, $2) order by d.number, d.sink limit $3");
    PARKED_OF = concat!("-- parked: of one sink
        select ", message_columns!(), ", d.sink, d.failed, d.lost, d.since, d.error
        from surefoot.delivery d join surefoot.message m on m.number = d.number
        where d.state = 'parked' and d.standing is not null and d.sink = $4 and (d.number, d.sink) > ($1, $2)
        order by d.number limit $3");
    DEPTH = "-- message_depth
        select sink, waiting, taken, parked, oldest, oldest_parked from surefoot.message_depth($1)";
    FORGET = "-- forget_messages
        select deliveries, messages, more from surefoot.forget_messages($1, $2)";
}

/// One message with all that is on record about it.
pub(super) async fn record(
    caller: &Caller,
    tenant: &Tenant,
    id: &MessageId,
) -> Result<Option<MessageRecord>, StoreError> {
    let Some((number, message)) = by_id(caller, tenant, id).await? else {
        return Ok(None);
    };
    let statement = caller.statement(DELIVERIES).bind(number.0);
    let deliveries = caller.rows(statement).await?;
    let statement = caller
        .statement(ORDERS)
        .bind(number.0)
        .bind(i64::from(MESSAGE_ORDERS_MAX));
    let orders = caller.rows(statement).await?;
    Ok(Some(MessageRecord {
        number,
        message,
        deliveries: deliveries.iter().map(delivery).collect::<Result<_, _>>()?,
        orders: orders.iter().rev().map(order).collect::<Result<_, _>>()?,
    }))
}

fn order(row: &PgRow) -> Result<DeliveryOrder, StoreError> {
    Ok(DeliveryOrder {
        sink: parsed(row, "sink", str::parse)?,
        verb: parsed(row, "verb", |text| {
            DeliveryVerb::parse(text).ok_or("no order on a delivery")
        })?,
        at: time(row, "at")?,
        by: by(row)?,
    })
}

fn by(row: &PgRow) -> Result<By, StoreError> {
    Ok(By {
        actor: parsed(row, "actor", str::parse)?,
        reason: text(row, "reason")?,
    })
}

fn time(row: &PgRow, name: &'static str) -> Result<Timestamp, StoreError> {
    column(row, name).map(Timestamp::from_micros)
}

fn text(row: &PgRow, name: &'static str) -> Result<ErrorText, StoreError> {
    column::<String>(row, name).map(ErrorText::from)
}

fn delivery(row: &PgRow) -> Result<Delivery, StoreError> {
    let name = parsed(row, "state", |text| {
        DeliveryStateName::parse(text).ok_or("no state of a delivery")
    })?;
    Ok(Delivery {
        sink: parsed(row, "sink", str::parse)?,
        number: MessageNumber(column(row, "number")?),
        failed: count(column(row, "failed")?)?,
        lost: count(column(row, "lost")?)?,
        state: match name {
            DeliveryStateName::Waiting => DeliveryState::Waiting {
                due_at: time(row, "due_at")?,
                error: column::<Option<String>>(row, "error")?.map(ErrorText::from),
            },
            DeliveryStateName::Taken => DeliveryState::Taken {
                holder: parsed(row, "holder", str::parse)?,
                epoch: Epoch(column(row, "epoch")?),
                lease_until: time(row, "lease_until")?,
            },
            DeliveryStateName::Delivered => DeliveryState::Delivered {
                at: time(row, "since")?,
                proof: Proof::new(column::<String>(row, "proof")?),
            },
            DeliveryStateName::Parked => DeliveryState::Parked {
                at: time(row, "since")?,
                error: text(row, "error")?,
            },
            DeliveryStateName::Skipped => DeliveryState::Skipped {
                at: time(row, "since")?,
                by: by(row)?,
            },
        },
    })
}

/// Parked deliveries, by number and sink.
pub(super) async fn parked(
    caller: &Caller,
    sink: Option<&SinkName>,
    after: Option<&DeliveryId>,
    limit: u32,
) -> Result<Vec<ParkedDelivery>, StoreError> {
    let statement = caller.statement(if sink.is_some() { PARKED_OF } else { PARKED });
    let (number, name) = after.map_or((i64::MIN, ""), |after| {
        (after.number.0, after.sink.as_str())
    });
    let mut statement = statement
        .bind(number)
        .bind(name.to_owned())
        .bind(i64::from(limit.min(PAGE_MAX)));
    if let Some(sink) = sink {
        statement = statement.bind(sink.as_str().to_owned());
    }
    caller
        .rows(statement)
        .await?
        .iter()
        .map(one_parked)
        .collect()
}

fn one_parked(row: &PgRow) -> Result<ParkedDelivery, StoreError> {
    let (number, message) = read(row)?;
    Ok(ParkedDelivery {
        delivery: DeliveryId {
            number,
            sink: parsed(row, "sink", str::parse)?,
        },
        message,
        failed: count(column(row, "failed")?)?,
        lost: count(column(row, "lost")?)?,
        at: time(row, "since")?,
        error: text(row, "error")?,
    })
}

/// What is open for each sink, by name.
pub(super) async fn depth(caller: &Caller) -> Result<Vec<SinkDepth>, StoreError> {
    let most = i32::try_from(PAGE_MAX).map_err(broken)?;
    let rows = caller.rows(caller.statement(DEPTH).bind(most)).await?;
    rows.iter()
        .map(|row| {
            let number = |name| {
                let number: i64 = column(row, name)?;
                u64::try_from(number).map_err(broken)
            };
            let since = |name| {
                let micros: Option<i64> = column(row, name)?;
                Ok::<_, StoreError>(micros.map(Timestamp::from_micros))
            };
            Ok(SinkDepth {
                sink: parsed(row, "sink", str::parse)?,
                waiting: number("waiting")?,
                taken: number("taken")?,
                parked: number("parked")?,
                oldest: since("oldest")?,
                oldest_parked: since("oldest_parked")?,
            })
        })
        .collect()
}

/// Forgets deliveries and messages.
pub(super) async fn forget(
    caller: &Caller,
    before: Timestamp,
    limit: u32,
) -> Result<ForgottenMessages, StoreError> {
    let limit = i32::try_from((limit as usize).min(BATCH_MAX)).map_err(broken)?;
    let statement = caller
        .statement(FORGET)
        .bind(before.as_micros())
        .bind(limit);
    let row = caller.row(statement).await?;
    let number = |name| {
        let number: i64 = column(&row, name)?;
        u64::try_from(number).map_err(broken)
    };
    Ok(ForgottenMessages {
        deliveries: number("deliveries")?,
        messages: number("messages")?,
        more: column(&row, "more")?,
    })
}
