//! What of messages leaves: deliveries that ended, then messages without any, a bounded number at a time. What is open is in
//! neither index and never touched.

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, ForgottenMessages};
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::row;

statements! {
    ENDED = "-- forget_messages: deliveries that ended, the oldest first
        select number, sink from surefoot_delivery indexed by surefoot_delivery_ended
        where standing is null and since <= ?1 order by since, number, sink limit ?2";
    FORGET_DELIVERY = "-- forget_messages: a delivery leaves
        delete from surefoot_delivery where sink = ?1 and number = ?2 and state in ('delivered', 'skipped')";
    ONE_LESS = "-- forget_messages: a message has one delivery less
        update surefoot_message set deliveries = deliveries - 1 where number = ?1";
    OVER = "-- forget_messages: messages without a delivery, the oldest first
        select number from surefoot_message indexed by surefoot_message_leaving
        where deliveries = 0 and appended_at <= ?1 order by appended_at, number limit ?2";
    FORGET_ORDERS = "-- forget_messages: what people ordered leaves with a message
        delete from surefoot_delivery_order where number = ?1";
    FORGET = "-- forget_messages: a message leaves, and its id is free
        delete from surefoot_message where number = ?1 and deliveries = 0";
}

/// Forgets deliveries and messages.
pub(super) fn forget(
    ledger: &Ledger<'_>,
    before: Timestamp,
    limit: u32,
) -> Result<ForgottenMessages, StoreError> {
    let limit = (limit as usize).min(BATCH_MAX);
    let most = i64::try_from(limit).unwrap_or(i64::MAX) + 1;
    let ended = ledger.rows(ENDED, (before.as_micros(), most), |found| {
        Ok((
            row::column::<i64>(found, 0)?,
            row::column::<String>(found, 1)?,
        ))
    })?;
    for (number, sink) in ended.iter().take(limit) {
        ledger.execute_one(FORGET_DELIVERY, (sink, number))?;
        ledger.execute_one(ONE_LESS, [number])?;
    }
    let over = ledger.rows(OVER, (before.as_micros(), most), |found| {
        row::column::<i64>(found, 0)
    })?;
    for number in over.iter().take(limit) {
        ledger.execute(FORGET_ORDERS, [number])?;
        ledger.execute_one(FORGET, [number])?;
    }
    Ok(ForgottenMessages {
        deliveries: ended.len().min(limit) as u64,
        messages: over.len().min(limit) as u64,
        more: ended.len() > limit || over.len() > limit,
    })
}
