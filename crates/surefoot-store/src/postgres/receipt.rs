//! Receipts: the primary key decides who was first; it must never look first and insert then. A twin whose transaction is open
//! is waited for: whether there was a first one is known when that transaction ends.

use surefoot_core::error::StoreError;
use surefoot_core::message::{Accepted, Receipt};
use surefoot_core::port::BATCH_MAX;
use surefoot_core::time::Timestamp;

use super::call::{Caller, Statement};
use super::fault::broken;
use super::row::column;
use super::within::Within;

statements! {
    ACCEPT = "-- accept: unless it was accepted
        insert into surefoot.receipt (tenant, source, message, consumer, accepted_at) values ($1, $2, $3, $4, $5)
        on conflict on constraint receipt_pkey do nothing returning accepted_at";
    ACCEPTED_AT = "-- accept: when it was accepted
        select accepted_at from surefoot.receipt where tenant = $1 and source = $2 and message = $3 and consumer = $4";
    FORGET = "-- forget_receipts
        select surefoot.forget_receipts($1, $2) as gone";
}

/// How often a receipt is handed in again that was forgotten between two looks.
const TRIES_MAX: usize = 10;

/// Accepts a receipt, or says when it was accepted.
pub(super) async fn accept(
    caller: &Caller,
    mut within: Within<'_>,
    receipt: &Receipt,
    now: Timestamp,
) -> Result<Accepted, StoreError> {
    for _ in 0..TRIES_MAX {
        let statement = bind(caller.statement(ACCEPT), receipt).bind(now.as_micros());
        if !within.rows(caller, statement).await?.is_empty() {
            return Ok(Accepted::First);
        }
        let statement = bind(caller.statement(ACCEPTED_AT), receipt);
        if let Some(row) = within.rows(caller, statement).await?.first() {
            return Ok(Accepted::Duplicate {
                at: Timestamp::from_micros(column(row, "accepted_at")?),
            });
        }
    }
    Err(StoreError::Unavailable("a receipt changes too fast".into()))
}

fn bind<'q>(statement: Statement<'q>, receipt: &Receipt) -> Statement<'q> {
    statement
        .bind(receipt.tenant.as_str().to_owned())
        .bind(receipt.source.as_str().to_owned())
        .bind(receipt.message.as_str().to_owned())
        .bind(receipt.consumer.as_str().to_owned())
}

/// Forgets the oldest receipts; answers how many.
pub(super) async fn forget(
    caller: &Caller,
    before: Timestamp,
    limit: u32,
) -> Result<u64, StoreError> {
    let limit = i32::try_from((limit as usize).min(BATCH_MAX)).map_err(broken)?;
    let statement = caller
        .statement(FORGET)
        .bind(before.as_micros())
        .bind(limit);
    let gone: i64 = column(&caller.row(statement).await?, "gone")?;
    u64::try_from(gone).map_err(broken)
}
