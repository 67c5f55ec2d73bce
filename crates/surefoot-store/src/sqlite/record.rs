//! Job: one job with its attempts, revisions and actions, all from one view of the file.

use rusqlite::{Connection, Row};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::{Attempt, AttemptOutcome, Job, JobState, Run};
use surefoot_core::payload::Payload;
use surefoot_core::port::{Action, ActionVerb, JOB_RECORDS_MAX, JobRecord, Revision};
use surefoot_core::text::ErrorText;

use super::ledger::{first, rows};
use super::row::{self, job_columns};

statements! {
    SEQ = "-- job: the number of a job
        select seq from surefoot_intent where id = ?1";
    JOB = concat!("-- job: one job
        select ", job_columns!(), "
        from surefoot_intent as i
        left join surefoot_job as j on j.seq = i.seq
        left join surefoot_job_history as h on h.seq = i.seq
        where i.seq = ?1");
    ATTEMPTS = "-- job: its attempts, the latest first
        select number, epoch, worker, started_at, ended_at, outcome, error, late from surefoot_attempt
        where seq = ?1 order by epoch desc limit ?2";
    REVISIONS = "-- job: its earlier payloads, the latest first
        select number, payload, replaced_at, actor, reason from surefoot_revision
        where seq = ?1 order by number desc limit ?2";
    ACTIONS = "-- job: what people did to it, the latest first
        select verb, at, actor, reason from surefoot_action
        where seq = ?1 order by number desc limit ?2";
}

/// One job with its records.
pub(super) fn record(connection: &Connection, id: JobId) -> Result<Option<JobRecord>, StoreError> {
    let seq: Option<i64> = first(connection, SEQ, [id.as_uuid().into_bytes()], |found| {
        row::column(found, 0)
    })?;
    let Some(seq) = seq else { return Ok(None) };
    let Some(job) = first(connection, JOB, [seq], row::job)? else {
        return Ok(None);
    };
    let latest = (seq, i64::try_from(JOB_RECORDS_MAX).unwrap_or(i64::MAX));
    let mut attempts = oldest_first(rows(connection, ATTEMPTS, latest, attempt)?);
    if let JobState::Running(run) = &job.state {
        attempts.push(running(&job, run));
        let surplus = attempts.len().saturating_sub(JOB_RECORDS_MAX);
        attempts.drain(..surplus);
    }
    Ok(Some(JobRecord {
        attempts,
        revisions: oldest_first(rows(connection, REVISIONS, latest, revision)?),
        actions: oldest_first(rows(connection, ACTIONS, latest, action)?),
        job,
    }))
}

fn oldest_first<T>(mut latest_first: Vec<T>) -> Vec<T> {
    latest_first.reverse();
    latest_first
}

/// The attempt that runs; its row is written when it ends.
fn running(job: &Job, run: &Run) -> Attempt {
    Attempt {
        number: job.counts.starts,
        epoch: run.epoch,
        worker: run.worker.clone(),
        started_at: run.started_at,
        ended_at: None,
        outcome: None,
        error: None,
        late: None,
    }
}

fn attempt(found: &Row<'_>) -> Result<Attempt, StoreError> {
    let error: Option<String> = row::column(found, 6)?;
    let late: Option<String> = row::column(found, 7)?;
    Ok(Attempt {
        number: row::count(found, 0)?,
        epoch: Epoch(row::column(found, 1)?),
        worker: row::name(found, 2)?,
        started_at: row::time(found, 3)?,
        ended_at: Some(row::time(found, 4)?),
        outcome: Some(row::word(found, 5, AttemptOutcome::parse)?),
        error: error.map(ErrorText::from),
        late: late.map(ErrorText::from),
    })
}

fn revision(found: &Row<'_>) -> Result<Revision, StoreError> {
    Ok(Revision {
        number: row::count(found, 0)?,
        payload: Payload::from_store(row::column(found, 1)?),
        replaced_at: row::time(found, 2)?,
        by: row::by(found, 3)?,
    })
}

fn action(found: &Row<'_>) -> Result<Action, StoreError> {
    Ok(Action {
        verb: row::word(found, 0, ActionVerb::parse)?,
        at: row::time(found, 1)?,
        by: row::by(found, 2)?,
    })
}
