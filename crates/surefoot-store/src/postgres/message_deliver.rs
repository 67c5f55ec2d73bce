//! Taking, marking and steering deliveries: each one call of a function that holds the gate of the sink.

use std::collections::BTreeSet;

use surefoot_core::error::StoreError;
use surefoot_core::id::Epoch;
use surefoot_core::message::{DeliveryStateName, NextDelivery};
use surefoot_core::port::{
    By, DeliveryId, DeliverySteered, DeliveryVerb, Departed, Departure, Mark, Marked, TAKE_MAX,
    Take, TakenDelivery, TakenKey,
};
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::fault::broken;
use super::message::{bounded, read};
use super::row::column;

statements! {
    TAKE = "-- take
        select epoch, number, tenant, id, topic, key, payload, trace, appended_at, failed, lost
        from surefoot.take_deliveries($1, $2, $3, $4, $5, $6, $7)";
    DEPART = "-- depart
        select sink, number, epoch from surefoot.depart_deliveries($1, $2, $3)";
    MARK = "-- mark
        select surefoot.mark_deliveries($1, $2, $3, $4, $5, $6, $7) as answers";
    STEER = "-- again, skip
        select surefoot.steer_delivery($1, $2, $3, $4, $5, $6) as state";
}

/// Takes deliveries for a holder.
pub(super) async fn take(
    caller: &Caller,
    take: &Take,
    now: Timestamp,
) -> Result<Vec<TakenKey>, StoreError> {
    let lease_until = now.after(take.lease);
    let at_most = |number: u32| i32::try_from(number.min(TAKE_MAX)).unwrap_or(i32::MAX);
    let statement = caller
        .statement(TAKE)
        .bind(take.sink.as_str().to_owned())
        .bind(take.holder.as_str().to_owned())
        .bind(now.as_micros())
        .bind(lease_until.as_micros())
        .bind(at_most(take.keys_max))
        .bind(at_most(take.per_key_max.max(1)))
        .bind(at_most(TAKE_MAX));
    let mut taken: Vec<TakenKey> = Vec::new();
    for row in caller.rows(statement).await? {
        let epoch = Epoch(column(&row, "epoch")?);
        let (number, message) = read(&row)?;
        let delivery = TakenDelivery {
            number,
            message,
            failed: count(column(&row, "failed")?)?,
            lost: count(column(&row, "lost")?)?,
        };
        match taken.last_mut().filter(|key| key.epoch == epoch) {
            Some(key) => key.deliveries.push(delivery),
            None => taken.push(TakenKey {
                epoch,
                lease_until,
                deliveries: vec![delivery],
            }),
        }
    }
    Ok(taken)
}

/// Writes down that deliveries are about to leave.
pub(super) async fn depart(
    caller: &Caller,
    departures: &[Departure],
) -> Result<Vec<Departed>, StoreError> {
    bounded(departures.len())?;
    let sinks = departures
        .iter()
        .map(|departure| departure.delivery.sink.as_str().to_owned());
    let numbers = departures
        .iter()
        .map(|departure| departure.delivery.number.0);
    let statement = caller
        .statement(DEPART)
        .bind(sinks.collect::<Vec<String>>())
        .bind(numbers.collect::<Vec<i64>>())
        .bind(
            departures
                .iter()
                .map(|departure| departure.epoch.0)
                .collect::<Vec<i64>>(),
        );
    let mut applied = BTreeSet::new();
    for row in caller.rows(statement).await? {
        applied.insert((
            column::<String>(&row, "sink")?,
            column::<i64>(&row, "number")?,
            column::<i64>(&row, "epoch")?,
        ));
    }
    let departed = |departure: &Departure| {
        let (delivery, epoch) = (&departure.delivery, departure.epoch.0);
        let sink = delivery.sink.as_str().to_owned();
        if applied.contains(&(sink, delivery.number.0, epoch)) {
            Departed::Applied
        } else {
            Departed::Stale
        }
    };
    Ok(departures.iter().map(departed).collect())
}

/// A small number of a row.
pub(super) fn count(number: i32) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(broken)
}

/// The columns of a mark.
struct Written {
    state: DeliveryStateName,
    at: Timestamp,
    text: Option<String>,
    failed: Option<i32>,
}

impl Written {
    fn of(next: &NextDelivery) -> Self {
        let failures = |failed: u32| Some(i32::try_from(failed).unwrap_or(i32::MAX));
        match next {
            NextDelivery::Delivered { at, proof } => Self {
                state: DeliveryStateName::Delivered,
                at: *at,
                text: Some(proof.as_str().to_owned()),
                failed: None,
            },
            NextDelivery::Waiting {
                due_at,
                error,
                failed,
            } => Self {
                state: DeliveryStateName::Waiting,
                at: *due_at,
                text: error.as_ref().map(|error| error.as_str().to_owned()),
                failed: failures(*failed),
            },
            NextDelivery::Parked { at, error, failed } => Self {
                state: DeliveryStateName::Parked,
                at: *at,
                text: Some(error.as_str().to_owned()),
                failed: failures(*failed),
            },
        }
    }
}

/// Writes down what became of deliveries.
pub(super) async fn mark(caller: &Caller, marks: &[Mark]) -> Result<Vec<Marked>, StoreError> {
    bounded(marks.len())?;
    if marks.is_empty() {
        return Ok(Vec::new());
    }
    let written: Vec<Written> = marks.iter().map(|mark| Written::of(&mark.next)).collect();
    let sinks = marks.iter().map(|mark| mark.delivery.sink.as_str());
    let statement = caller
        .statement(MARK)
        .bind(sinks.map(str::to_owned).collect::<Vec<String>>())
        .bind(
            marks
                .iter()
                .map(|mark| mark.delivery.number.0)
                .collect::<Vec<i64>>(),
        )
        .bind(marks.iter().map(|mark| mark.epoch.0).collect::<Vec<i64>>())
        .bind(
            written
                .iter()
                .map(|mark| mark.state.as_str().to_owned())
                .collect::<Vec<String>>(),
        )
        .bind(
            written
                .iter()
                .map(|mark| mark.at.as_micros())
                .collect::<Vec<i64>>(),
        )
        .bind(
            written
                .iter()
                .map(|mark| mark.text.clone())
                .collect::<Vec<Option<String>>>(),
        )
        .bind(
            written
                .iter()
                .map(|mark| mark.failed)
                .collect::<Vec<Option<i32>>>(),
        );
    let row = caller.row(statement).await?;
    let answers: Vec<i16> = column(&row, "answers")?;
    if answers.len() != marks.len() {
        return Err(broken("marks and their answers differ in number"));
    }
    answers
        .into_iter()
        .map(|answer| match answer {
            0 => Ok(Marked::Applied),
            1 => Ok(Marked::Already),
            2 => Ok(Marked::Stale),
            other => Err(broken(format!("{other} is no answer to a mark"))),
        })
        .collect()
}

/// Carries out an order on a parked delivery.
pub(super) async fn steer(
    caller: &Caller,
    delivery: &DeliveryId,
    verb: DeliveryVerb,
    by: &By,
    now: Timestamp,
) -> Result<DeliverySteered, StoreError> {
    let statement = caller
        .statement(STEER)
        .bind(delivery.sink.as_str().to_owned())
        .bind(delivery.number.0)
        .bind(verb.as_str())
        .bind(now.as_micros())
        .bind(by.actor.as_str().to_owned())
        .bind(by.reason.as_str().to_owned());
    let row = caller.row(statement).await?;
    let Some(state) = column::<Option<String>>(&row, "state")? else {
        return Ok(DeliverySteered::NotFound);
    };
    match DeliveryStateName::parse(&state) {
        Some(DeliveryStateName::Parked) => Ok(DeliverySteered::Done),
        Some(
            other @ (DeliveryStateName::Waiting
            | DeliveryStateName::Taken
            | DeliveryStateName::Delivered
            | DeliveryStateName::Skipped),
        ) => Ok(DeliverySteered::Refused(other)),
        None => Err(broken(format!("{state} is no state of a delivery"))),
    }
}
