//! Receipts: the primary key decides who was first; it must never look first and insert then.

use surefoot_core::error::StoreError;
use surefoot_core::message::{Accepted, Receipt};
use surefoot_core::port::BATCH_MAX;
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::row;

statements! {
    ACCEPT = "-- accept: unless it was accepted
        insert into surefoot_receipt (tenant, source, message, consumer, accepted_at) values (?1, ?2, ?3, ?4, ?5)
        on conflict do nothing";
    ACCEPTED_AT = "-- accept: when it was accepted
        select accepted_at from surefoot_receipt
        where tenant = ?1 and source = ?2 and message = ?3 and consumer = ?4";
    FORGET = "-- forget_receipts: the oldest leave, but those of messages that are here
        delete from surefoot_receipt where (tenant, source, message, consumer) in (
            select r.tenant, r.source, r.message, r.consumer
            from surefoot_receipt as r indexed by surefoot_receipt_leaving
            where r.accepted_at <= ?1 and not (r.source = 'outbox' and exists (
                select 1 from surefoot_message as m where m.tenant = r.tenant and m.id = r.message))
            order by r.accepted_at limit ?2)";
}

/// Accepts a receipt, or says when it was accepted.
pub(super) fn accept(
    ledger: &Ledger<'_>,
    receipt: &Receipt,
    now: Timestamp,
) -> Result<Accepted, StoreError> {
    let (tenant, source) = (receipt.tenant.as_str(), receipt.source.as_str());
    let (message, consumer) = (receipt.message.as_str(), receipt.consumer.as_str());
    let written = ledger.execute(ACCEPT, (tenant, source, message, consumer, now.as_micros()))?;
    if written == 1 {
        return Ok(Accepted::First);
    }
    let known = (tenant, source, message, consumer);
    match ledger.first(ACCEPTED_AT, known, |found| row::time(found, 0))? {
        Some(at) => Ok(Accepted::Duplicate { at }),
        None => Err(StoreError::Broken(format!(
            "the receipt of message {message} was refused by its primary key, but it is not there"
        ))),
    }
}

/// Forgets the oldest receipts; answers how many.
pub(super) fn forget(
    ledger: &Ledger<'_>,
    before: Timestamp,
    limit: u32,
) -> Result<u64, StoreError> {
    let limit = i64::try_from((limit as usize).min(BATCH_MAX)).unwrap_or(i64::MAX);
    let gone = ledger.execute(FORGET, (before.as_micros(), limit))?;
    Ok(gone as u64)
}
