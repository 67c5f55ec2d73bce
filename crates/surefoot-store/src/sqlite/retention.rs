//! Retention: jobs that ended long ago leave history with all their records, the oldest first, a bounded number at a
//! time. SQLite has no partitions, so rows are deleted; their pages are used again. It must never touch a job that
//! waits, runs or is dead: those are not in history.

use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, Maintained};
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::row;

statements! {
    OLDEST = "-- maintain: what ended longest ago
        select seq from surefoot_job_history indexed by surefoot_job_history_ended
        where ended_at < ?1 order by ended_at limit ?2";
    DROP_HISTORY = "-- maintain: a job leaves history
        delete from surefoot_job_history where seq = ?1";
    DROP_INTENT = "-- maintain: what was asked for, which frees the key
        delete from surefoot_intent where seq = ?1";
    DROP_ATTEMPTS = "-- maintain: its attempts
        delete from surefoot_attempt where seq = ?1";
    DROP_EFFECTS = "-- maintain: its effects
        delete from surefoot_effect where seq = ?1";
    DROP_REVISIONS = "-- maintain: its earlier payloads
        delete from surefoot_revision where seq = ?1";
    DROP_ACTIONS = "-- maintain: what people did to it
        delete from surefoot_action where seq = ?1";
}

/// How many rows of records one call drops before it stops after the job at hand.
const RECORDS_MAX: usize = 10_000;

/// Drops jobs that ended longer ago than `keep`, at most [`BATCH_MAX`] and fewer where they left much on record.
pub(super) fn maintain(
    ledger: &Ledger<'_>,
    keep: Duration,
    now: Timestamp,
) -> Result<Maintained, StoreError> {
    let limit = i64::try_from(BATCH_MAX).unwrap_or(i64::MAX);
    let before = now.before(keep).as_micros();
    let oldest: Vec<i64> =
        ledger.rows(OLDEST, (before, limit + 1), |found| row::column(found, 0))?;
    let (mut jobs_dropped, mut records_dropped) = (0, 0);
    for seq in oldest.iter().take(BATCH_MAX) {
        if records_dropped >= RECORDS_MAX {
            break;
        }
        ledger.execute_one(DROP_HISTORY, [seq])?;
        ledger.execute_one(DROP_INTENT, [seq])?;
        for records in [DROP_ATTEMPTS, DROP_EFFECTS, DROP_REVISIONS, DROP_ACTIONS] {
            records_dropped += ledger.execute(records, [seq])?;
        }
        jobs_dropped += 1;
    }
    Ok(Maintained {
        jobs_dropped: jobs_dropped as u64,
        more: oldest.len() > jobs_dropped,
    })
}
