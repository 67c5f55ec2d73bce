//! What of requests leaves: answers at the end of their retention, records at the end of their tombstone, a bounded number
//! at a time. What is open is in neither index and never touched.

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, Forgotten};
use surefoot_core::request::{RequestId, RequestStateName};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::ledger::Ledger;
use super::{request, row};
use crate::request_record::encode;

statements! {
    LEAVING_AT = "-- forget_requests: of one closed state, those that leave first
        select leaves_at, id from surefoot_request indexed by surefoot_request_leaving
        where state = ?1 and leaves_at is not null and leaves_at <= ?2 order by leaves_at, id limit ?3";
    FORGET = "-- forget_requests: a record leaves, and its key is free
        delete from surefoot_request where id = ?1";
}

/// Takes answers away and forgets records.
pub(super) fn forget(
    ledger: &Ledger<'_>,
    now: Timestamp,
    limit: u32,
) -> Result<Forgotten, StoreError> {
    let limit = (limit as usize).min(BATCH_MAX);
    let (stale, more_stale) = leaving(ledger, &[RequestStateName::Finished], now, limit)?;
    for id in &stale {
        let expired =
            request::by_id(ledger.connection(), *id)?.and_then(|request| request.expired(now));
        if let Some(expired) = expired {
            request::write(ledger, &expired, &encode(&expired)?)?;
        }
    }
    let closed = [RequestStateName::Expired, RequestStateName::Released];
    let (over, more_over) = leaving(ledger, &closed, now, limit)?;
    for id in &over {
        ledger.execute_one(FORGET, [id.as_uuid().into_bytes()])?;
    }
    Ok(Forgotten {
        expired: stale.len() as u64,
        forgotten: over.len() as u64,
        more: more_stale || more_over,
    })
}

/// Those of some states that leave first, and whether there are more.
fn leaving(
    ledger: &Ledger<'_>,
    states: &[RequestStateName],
    now: Timestamp,
    limit: usize,
) -> Result<(Vec<RequestId>, bool), StoreError> {
    let mut leaving = Vec::new();
    for state in states {
        let most = i64::try_from(limit).unwrap_or(i64::MAX) + 1;
        let found = ledger.rows(
            LEAVING_AT,
            (state.as_str(), now.as_micros(), most),
            |found| {
                let id: Vec<u8> = row::column(found, 1)?;
                let id = Uuid::from_slice(&id).map_err(|fault| {
                    StoreError::Broken(format!("column id of a request holds {id:?}: {fault}"))
                })?;
                Ok((row::column::<i64>(found, 0)?, RequestId::from_uuid(id)))
            },
        )?;
        leaving.extend(found);
    }
    leaving.sort_unstable();
    let more = leaving.len() > limit;
    leaving.truncate(limit);
    Ok((leaving.into_iter().map(|(_, id)| id).collect(), more))
}
