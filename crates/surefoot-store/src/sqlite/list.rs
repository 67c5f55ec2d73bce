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
    WITHDRAWN = page!("that were cancelled or ignored",
        "surefoot_job_history as w indexed by surefoot_job_history_withdrawn
        cross join surefoot_intent as i on i.seq = w.seq
        left join surefoot_job as j on j.seq = i.seq", "w.state <> 'succeeded' and w.state = ?5", "w.id");
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
        Some(StateName::Pending | StateName::Retrying | StateName::Dead) => BY_STATE,
        Some(StateName::Running) => RUNNING,
        Some(StateName::Cancelled | StateName::Ignored) => WITHDRAWN,
        // Nearly everything has succeeded, so the walk by id finds it at once.
        Some(StateName::Succeeded) | None => BY_ID,
    }
}
