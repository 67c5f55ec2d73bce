//! When the next job becomes due that a claim would look at, so that nobody needs to poll until then.

use surefoot_core::error::StoreError;
use surefoot_core::port::Claim;
use surefoot_core::time::Timestamp;

use super::super::ledger::Ledger;
use super::super::row;
use super::levels::{self, Level};
use super::served::Served;

statements! {
    NEXT = "-- claim: the next due time on a level of a lane
        select due_at from surefoot_job indexed by surefoot_job_lane
        where readiness = ?1 and queue = ?2 and kind = ?3 and priority = ?4 and due_at > ?5
        order by due_at limit 1";
}

/// The earliest due time after `now` of a waiting job of the claim's kinds and queues.
pub(super) fn next_due(
    ledger: &Ledger<'_>,
    claim: &Claim,
    served: &Served<'_>,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let wanted = |kind: &str| claim.kinds.iter().any(|terms| terms.kind.as_str() == kind);
    let mut next: Option<Timestamp> = None;
    for readiness in [levels::READY, levels::PARKED] {
        let mut after = String::new();
        while let Some(queue) = served.next_of(ledger, readiness, &after)? {
            levels::each_in_queue(ledger.connection(), readiness, &queue, wanted, |level| {
                if let Some(due) = next_on(ledger, level, now)? {
                    next = Some(next.map_or(due, |next| next.min(due)));
                }
                Ok(())
            })?;
            after = queue;
        }
    }
    Ok(next)
}

fn next_on(
    ledger: &Ledger<'_>,
    level: &Level<'_>,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let place = (
        level.readiness,
        level.queue,
        level.kind,
        level.priority,
        now.as_micros(),
    );
    ledger.first(NEXT, place, |found| row::time(found, 0))
}
