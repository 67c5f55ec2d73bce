//! One job with all that is on record about it, read in one statement so that all of it is of one moment.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Actor, Epoch, JobId, Worker};
use surefoot_core::job::Attempt;
use surefoot_core::payload::Payload;
use surefoot_core::port::{Action, ActionVerb, By, JOB_RECORDS_MAX, JobRecord, Revision};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::fault::broken;
use super::row::{JobRow, column, outcome};

statements! {
    JOB = "-- job
        select k.*, a.*, r.*, c.*
        from surefoot.known_job k
        left join lateral (
            select array_agg(number order by number) as a_number, array_agg(epoch order by number) as a_epoch,
                array_agg(worker order by number) as a_worker, array_agg(started_at order by number) as a_started_at,
                array_agg(ended_at order by number) as a_ended_at, array_agg(outcome order by number) as a_outcome,
                array_agg(error order by number) as a_error, array_agg(late order by number) as a_late
            from (
                select * from surefoot.attempt t where t.job = $1 order by t.number desc limit $2) t) a on true
        left join lateral (
            select array_agg(number order by number) as r_number, array_agg(payload order by number) as r_payload,
                array_agg(replaced_at order by number) as r_replaced_at, array_agg(actor order by number) as r_actor,
                array_agg(reason order by number) as r_reason
            from (
                select * from surefoot.revision t where t.job = $1 order by t.number desc limit $2) t) r on true
        left join lateral (
            select array_agg(verb order by number) as c_verb, array_agg(at order by number) as c_at,
                array_agg(actor order by number) as c_actor, array_agg(reason order by number) as c_reason
            from (
                select * from surefoot.action t where t.job = $1 order by t.number desc limit $2) t) c on true
        where k.id = $1";
}

/// The job, if there is one.
pub(super) async fn job(caller: &Caller, job: JobId) -> Result<Option<JobRecord>, StoreError> {
    let most = i64::try_from(JOB_RECORDS_MAX).unwrap_or(i64::MAX);
    let rows = caller
        .rows(caller.statement(JOB).bind(job.as_uuid()).bind(most))
        .await?;
    rows.first().map(read).transpose()
}

fn read(row: &PgRow) -> Result<JobRecord, StoreError> {
    let job = JobRow::at(row, 0);
    let mut attempts = attempts(row)?;
    attempts.extend(job.last_attempt()?);
    attempts.drain(..attempts.len().saturating_sub(JOB_RECORDS_MAX));
    Ok(JobRecord {
        job: job.known()?,
        attempts,
        revisions: revisions(row)?,
        actions: actions(row)?,
    })
}

/// A column of an array; no rows make it null.
fn list<'r, T>(row: &'r PgRow, name: &'static str) -> Result<Vec<T>, StoreError>
where
    Vec<T>: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    Ok(column::<Option<Vec<T>>>(row, name)?.unwrap_or_default())
}

/// The next of each array. All arrays of one record have one length.
fn next<T>(values: &mut impl Iterator<Item = T>, name: &'static str) -> Result<T, StoreError> {
    values
        .next()
        .ok_or_else(|| broken(format_args!("column {name} is too short")))
}

fn attempts(row: &PgRow) -> Result<Vec<Attempt>, StoreError> {
    let mut epochs = list::<i64>(row, "a_epoch")?.into_iter();
    let mut workers = list::<String>(row, "a_worker")?.into_iter();
    let mut started = list::<i64>(row, "a_started_at")?.into_iter();
    let mut ended = list::<i64>(row, "a_ended_at")?.into_iter();
    let mut outcomes = list::<String>(row, "a_outcome")?.into_iter();
    let mut errors = list::<Option<String>>(row, "a_error")?.into_iter();
    let mut late = list::<Option<String>>(row, "a_late")?.into_iter();
    let mut attempts = Vec::new();
    for number in list::<i32>(row, "a_number")? {
        attempts.push(Attempt {
            late: next(&mut late, "a_late")?.map(ErrorText::from),
            number: u32::try_from(number).map_err(broken)?,
            epoch: Epoch(next(&mut epochs, "a_epoch")?),
            worker: Worker::new(next(&mut workers, "a_worker")?).map_err(broken)?,
            started_at: Timestamp::from_micros(next(&mut started, "a_started_at")?),
            ended_at: Some(Timestamp::from_micros(next(&mut ended, "a_ended_at")?)),
            outcome: Some(outcome(&next(&mut outcomes, "a_outcome")?).map_err(broken)?),
            error: next(&mut errors, "a_error")?.map(ErrorText::from),
        });
    }
    Ok(attempts)
}

fn revisions(row: &PgRow) -> Result<Vec<Revision>, StoreError> {
    let mut payloads = list::<String>(row, "r_payload")?.into_iter();
    let mut replaced = list::<i64>(row, "r_replaced_at")?.into_iter();
    let mut actors = list::<String>(row, "r_actor")?.into_iter();
    let mut reasons = list::<String>(row, "r_reason")?.into_iter();
    let mut revisions = Vec::new();
    for number in list::<i32>(row, "r_number")? {
        revisions.push(Revision {
            number: u32::try_from(number).map_err(broken)?,
            payload: Payload::from_store(next(&mut payloads, "r_payload")?),
            replaced_at: Timestamp::from_micros(next(&mut replaced, "r_replaced_at")?),
            by: by(
                next(&mut actors, "r_actor")?,
                next(&mut reasons, "r_reason")?,
            )?,
        });
    }
    Ok(revisions)
}

fn actions(row: &PgRow) -> Result<Vec<Action>, StoreError> {
    let mut times = list::<i64>(row, "c_at")?.into_iter();
    let mut actors = list::<String>(row, "c_actor")?.into_iter();
    let mut reasons = list::<String>(row, "c_reason")?.into_iter();
    let mut actions = Vec::new();
    for verb in list::<String>(row, "c_verb")? {
        actions.push(Action {
            verb: ActionVerb::parse(&verb)
                .ok_or_else(|| broken(format_args!("{verb:?} is no action")))?,
            at: Timestamp::from_micros(next(&mut times, "c_at")?),
            by: by(
                next(&mut actors, "c_actor")?,
                next(&mut reasons, "c_reason")?,
            )?,
        });
    }
    Ok(actions)
}

fn by(actor: String, reason: String) -> Result<By, StoreError> {
    Ok(By {
        actor: Actor::new(actor).map_err(broken)?,
        reason: ErrorText::from(reason),
    })
}
