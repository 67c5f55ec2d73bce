//! Jobs: pages by filter, the highest id first. Which index leads is chosen by the filter, so that a page of what is
//! rare never walks through what is common.

use rusqlite::Connection;
use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::job::{Job, StateName};
use surefoot_core::port::{JobFilter, PAGE_MAX};

use super::ledger::rows;
use super::row::{self, job_columns};

/// A page over ?1 tenant, ?2 kind, ?3 queue, ?4 key, ?5 state, ?6 fingerprint, ?7 the id below which it begins and
/// ?8 how many. What is null filters nothing.
macro_rules! page {
    ($comment:literal, $from:literal, $where:literal, $id:literal) => {
        concat!(
            "-- jobs: ",
            $comment,
            "\n select ",
            job_columns!(),
            " from ",
            $from,
            " left join surefoot_job_history as h on h.seq = i.seq where ",
            $where,
            " and (?1 is null or i.tenant = ?1) and (?2 is null or i.kind = ?2)
              and (?3 is null or i.queue = ?3) and (?4 is null or i.key = ?4)
              and (?5 is null or coalesce(j.state, h.state) = ?5) and (?6 is null or j.fingerprint = ?6) and ",
            $id,
            " < ?7 order by ",
            $id,
            " desc limit ?8"
        )
    };
}

statements! {
    BY_ID = page!("of any state", "surefoot_intent as i indexed by surefoot_intent_id
        left join surefoot_job as j on j.seq = i.seq", "true", "i.id");
    BY_KEY = page!("of a key", "surefoot_intent as i indexed by surefoot_intent_key
        left join surefoot_job as j on j.seq = i.seq", "i.key = ?4", "i.id");
    BY_STATE = page!("that wait or are dead", "surefoot_job as j indexed by surefoot_job_listed
        cross join surefoot_intent as i on i.seq = j.seq", "j.state <> 'running' and j.state = ?5", "j.id");
    BY_FINGERPRINT = page!("that are dead by the same fault", "surefoot_job as j indexed by surefoot_job_dead_fingerprint
        cross join surefoot_intent as i on i.seq = j.seq", "j.state = 'dead' and j.fingerprint = ?6", "j.id");
    RUNNING = page!("that run", "surefoot_job as j indexed by surefoot_job_running
        cross join surefoot_intent as i on i.seq = j.seq", "j.state = 'running'", "j.id");
    FINISHED = page!("that are finished", "surefoot_job_history as f indexed by surefoot_job_history_listed
        cross join surefoot_intent as i on i.seq = f.seq
        left join surefoot_job as j on j.seq = i.seq", "f.state = ?5", "f.id");
}

/// Sorts after every id.
const ABOVE_ALL: [u8; 17] = [0xff; 17];

/// A page of jobs that match, the highest id first.
pub(super) fn jobs(
    connection: &Connection,
    filter: &JobFilter,
    before: Option<JobId>,
    limit: u32,
) -> Result<Vec<Job>, StoreError> {
    let before = before.map(|id| id.as_uuid().into_bytes());
    rows(
        connection,
        statement(filter),
        (
            filter.tenant.as_ref().map(|tenant| tenant.as_str()),
            filter.kind.as_ref().map(|kind| kind.as_str()),
            filter.queue.as_ref().map(|queue| queue.as_str()),
            filter.key.as_ref().map(|key| key.as_str()),
            filter.state.map(StateName::as_str),
            filter
                .fingerprint
                .map(|fingerprint| fingerprint.to_bits().cast_signed()),
            before
                .as_ref()
                .map_or(ABOVE_ALL.as_slice(), |id| id.as_slice()),
            limit.min(PAGE_MAX),
        ),
        row::job,
    )
}

fn statement(filter: &JobFilter) -> &'static str {
    if filter.key.is_some() {
        return BY_KEY;
    }
    if filter.fingerprint.is_some() {
        return BY_FINGERPRINT;
    }
    match filter.state {
        Some(StateName::Pending | StateName::Retrying | StateName::Verifying | StateName::Dead) => {
            BY_STATE
        }
        Some(StateName::Running) => RUNNING,
        Some(StateName::Succeeded | StateName::Cancelled | StateName::Ignored) => FINISHED,
        None => BY_ID,
    }
}

#[cfg(test)]
mod tests {
    use surefoot_core::failure::Failure;
    use surefoot_core::id::{Actor, Key};
    use surefoot_core::port::{By, NewJob};
    use surefoot_core::settle::Report;
    use surefoot_core::text::ErrorText;

    use super::*;
    use crate::sqlite::steps::{Counted, NOW, plain, take};
    use crate::sqlite::{cancel, depth, steer};

    /// Few enough for any page; a walk through all of [`crowded`] takes more than ten times as many.
    const STEPS_MAX: i32 = 2_000;

    /// Two jobs of each rare state, then a thousand that succeeded and a thousand that wait.
    fn crowded() -> Counted {
        let by = By {
            actor: Actor::new("ada").unwrap(),
            reason: ErrorText::from("tidy"),
        };
        let mut store = Counted::new();
        store.add(2, |index, job| NewJob {
            key: Key::new(format!("key-{index}")).ok(),
            ..job
        });
        store.add(8, plain);
        let leased = store.claim(&take(10));
        for job in &leased[2..4] {
            store.report(job, Report::Failed(Failure::transient("try again")));
        }
        for job in &leased[4..8] {
            store.report(job, Report::Failed(Failure::permanent("broken")));
        }
        for job in &leased[6..8] {
            store.write(|ledger| steer::ignore(ledger, job.id, &by, NOW).unwrap());
        }
        for id in store.add(2, plain) {
            store.write(|ledger| cancel::cancel(ledger, id, &by, NOW).unwrap());
        }
        store.add(1000, plain);
        store
            .claim(&take(1000))
            .iter()
            .for_each(|job| store.succeed(job));
        store.add(1000, plain);
        store
    }

    /// Symptoms 54 and 146.
    #[test]
    fn a_page_of_what_is_rare_does_not_walk_through_what_is_common() {
        let store = crowded();
        let of = |state| JobFilter {
            state: Some(state),
            ..JobFilter::default()
        };
        let dead = store
            .steps(|store| jobs(&store.connection, &of(StateName::Dead), None, 10).unwrap())
            .1;
        let fingerprint = match &dead[0].state {
            surefoot_core::job::JobState::Dead(death) => death.fingerprint,
            other => panic!("{other:?}"),
        };
        let table = [
            (of(StateName::Pending), 10),
            (of(StateName::Running), 4),
            (of(StateName::Retrying), 2),
            (of(StateName::Succeeded), 10),
            (of(StateName::Dead), 2),
            (of(StateName::Cancelled), 2),
            (of(StateName::Ignored), 2),
            (
                JobFilter {
                    fingerprint: Some(fingerprint),
                    ..JobFilter::default()
                },
                2,
            ),
            (
                JobFilter {
                    key: Key::new("key-1").ok(),
                    ..JobFilter::default()
                },
                1,
            ),
            (JobFilter::default(), 10),
        ];
        for (filter, expected) in table {
            let page = |store: &Counted| jobs(&store.connection, &filter, None, 10).unwrap();
            let (steps, found) = store.steps(page);
            assert_eq!(found.len(), expected, "{filter:?}");
            assert!(steps < STEPS_MAX, "{steps} steps: {filter:?}");
        }
    }

    /// Symptoms 54 and 146.
    #[test]
    fn depth_does_not_count_rows() {
        let (steps, depth) = crowded().steps(|store| depth::depth(&store.connection, NOW).unwrap());
        let counts: Vec<_> = depth
            .counts
            .iter()
            .map(|line| (line.state, line.count))
            .collect();
        assert_eq!(
            counts,
            [
                (StateName::Pending, 1000),
                (StateName::Running, 4),
                (StateName::Retrying, 2),
                (StateName::Dead, 2)
            ]
        );
        assert!(steps < STEPS_MAX, "{steps} steps");
    }
}
