//! Maintain: jobs that ended long ago leave history with all their records, the oldest first, a bounded number at a
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::steps::{Counted, NOW, plain, take};

    const KEEP: Duration = Duration::from_secs(1);

    /// How many steps it takes to forget so many jobs with so many effects each, and how many jobs each step dropped.
    fn steps(jobs: usize, effects: u32) -> Vec<u64> {
        let mut store = Counted::new();
        store.add(jobs, plain);
        for job in store.claim(&take(1000)) {
            store.succeed(&job);
        }
        store
            .connection
            .execute(
                "with recursive place (n) as (select 0 union all select n + 1 from place where n + 1 < ?1)
                 insert into surefoot_effect (seq, place, version, state, name, document)
                 select seq, n, 1, 'confirmed', 'a', '{}' from surefoot_intent, place",
                [effects],
            )
            .unwrap();
        let mut dropped = Vec::new();
        loop {
            let step = store.write(|ledger| maintain(ledger, KEEP, NOW.after(KEEP * 2)).unwrap());
            dropped.push(step.jobs_dropped);
            if !step.more {
                break;
            }
        }
        let left = |table| -> i64 {
            let count = format!("select count(*) from {table}");
            let count = store.connection.query_row(&count, (), |row| row.get(0));
            count.unwrap()
        };
        assert_eq!(
            [
                left("surefoot_intent"),
                left("surefoot_effect"),
                left("surefoot_attempt")
            ],
            [0; 3]
        );
        dropped
    }

    #[test]
    fn jobs_that_left_much_on_record_are_dropped_in_smaller_steps() {
        assert_eq!(steps(25, 10), [25]);
        assert_eq!(steps(25, 1000), [10, 10, 5]);
    }
}
