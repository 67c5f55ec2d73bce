//! What is known of effects, each kept as one document under its version, and the haste of a job that waits for news of
//! one. The database compares and swaps; what may be written was decided in the core.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::port::{BATCH_MAX, EffectWrite, EffectWritten};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::{Caller, Statement};
use super::enqueue::STATEMENT_BYTES_MAX;
use super::fault::{Fault, broken};
use super::row::column;
use crate::effect_record;

statements! {
    WRITE = "-- write_effects
        select answer, known from surefoot.write_effects($1, $2, $3, $4, $5, $6)";
    EFFECTS = "-- effects: from a place in the list on, until the documents have 32 MiB together
        select c.number, c.job, c.place, c.document, c.left
        from (
            select i.number, e.job, e.place, e.document, count(*) over () as left,
                sum(octet_length(e.document)) over (order by i.number, e.place) - octet_length(e.document) as before
            from unnest($1::uuid[]) with ordinality i (job, number) join surefoot.effect e on e.job = i.job
            where (i.number, e.place) > ($2::bigint, $3::bigint)
                and (exists (select from surefoot.job j where j.id = e.job)
                    or exists (select from surefoot.dead_letter d where d.id = e.job)
                    or exists (select from surefoot.job_history h where h.id = e.job))) c
        where c.before < 33554432
        order by c.number, c.place";
    HASTEN = "-- hasten
        select surefoot.hasten($1, $2) as answer";
}

/// A write with its place in the caller's batch and its document.
struct Item<'a> {
    number: usize,
    write: &'a EffectWrite,
    document: String,
}

impl<'a> Item<'a> {
    fn of((number, write): (usize, &'a EffectWrite)) -> Result<Self, StoreError> {
        Ok(Self {
            number,
            write,
            document: effect_record::encode(&write.effect)?,
        })
    }
}

/// Writes effects down. Answers stand in the order of the batch.
pub(super) async fn write(
    caller: &Caller,
    writes: &[EffectWrite],
) -> Result<Vec<EffectWritten>, StoreError> {
    let mut items = writes
        .iter()
        .enumerate()
        .map(Item::of)
        .collect::<Result<Vec<_>, _>>()?;
    // Jobs in one order in every batch, so that two batches never wait for each other; of one job as they came.
    items.sort_by_key(|item| item.write.effect.job);
    let mut written = vec![EffectWritten::NotFound; writes.len()];
    for part in parts(&items) {
        let rows = caller.rows(bind(caller.statement(WRITE), part)).await?;
        told(&rows, part, &mut written)?;
    }
    Ok(written)
}

/// Writes one effect down on the caller's connection.
pub(super) async fn write_in(
    caller: &Caller,
    connection: &mut PgConnection,
    write: &EffectWrite,
) -> Result<EffectWritten, StoreError> {
    let part = [Item::of((0, write))?];
    let rows = bind(caller.statement(WRITE), &part)
        .fetch_all(connection)
        .await
        .map_err(|error| Fault::of(error).error)?;
    let mut written = [EffectWritten::NotFound];
    told(&rows, &part, &mut written)?;
    let [written] = written;
    Ok(written)
}

/// The items in parts of bounded size.
fn parts<'i, 'a>(items: &'i [Item<'a>]) -> Vec<&'i [Item<'a>]> {
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (place, item) in items.iter().enumerate() {
        bytes += item.document.len();
        if place > start && (bytes > STATEMENT_BYTES_MAX || place - start == BATCH_MAX) {
            parts.push(&items[start..place]);
            (start, bytes) = (place, item.document.len());
        }
    }
    if start < items.len() {
        parts.push(&items[start..]);
    }
    parts
}

fn bind<'q>(statement: Statement<'q>, items: &[Item<'_>]) -> Statement<'q> {
    fn each<'i, T>(items: &'i [Item<'_>], of: impl Fn(&'i Item<'_>) -> T) -> Vec<T> {
        items.iter().map(of).collect()
    }
    statement
        .bind(each(items, |item| item.write.effect.job.as_uuid()))
        .bind(each(items, |item| i64::from(item.write.effect.place)))
        .bind(each(items, |item| i64::from(item.write.effect.version)))
        .bind(each(items, |item| item.document.as_str()))
        .bind(each(items, |item| item.write.fence.map(|epoch| epoch.0)))
        .bind(each(items, |item| {
            item.write.lease_until.map(Timestamp::as_micros)
        }))
}

fn told(
    rows: &[PgRow],
    items: &[Item<'_>],
    written: &mut [EffectWritten],
) -> Result<(), StoreError> {
    if rows.len() != items.len() {
        return Err(broken(format_args!(
            "{} answers to {} writes of effects",
            rows.len(),
            items.len()
        )));
    }
    for (row, item) in rows.iter().zip(items) {
        written[item.number] = match column::<i16>(row, "answer")? {
            0 => EffectWritten::Applied,
            1 => EffectWritten::Already,
            2 => EffectWritten::Stale,
            3 => EffectWritten::Changed(known(row, &item.write.effect)?),
            4 => EffectWritten::NotFound,
            other => {
                return Err(broken(format_args!(
                    "answer {other} to a write of an effect"
                )));
            }
        };
    }
    Ok(())
}

fn known(row: &PgRow, effect: &Effect) -> Result<Option<Box<Effect>>, StoreError> {
    let document: Option<&str> = column(row, "known")?;
    document
        .map(|text| effect_record::decode(effect.job, effect.place, text).map(Box::new))
        .transpose()
}

/// The effects of jobs, by job in the order asked and by place. Read in answers of bounded size.
pub(super) async fn effects(caller: &Caller, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.as_uuid()).collect();
    let mut effects = Vec::new();
    let mut after = (0_i64, -1_i64);
    loop {
        let statement = caller
            .statement(EFFECTS)
            .bind(ids.as_slice())
            .bind(after.0)
            .bind(after.1);
        let rows = caller.rows(statement).await?;
        for row in &rows {
            effects.push(read(row)?);
        }
        let Some(last) = rows.last() else {
            return Ok(effects);
        };
        let left: i64 = column(last, "left")?;
        if i64::try_from(rows.len()).unwrap_or(i64::MAX) >= left {
            return Ok(effects);
        }
        after = (column(last, "number")?, column(last, "place")?);
    }
}

fn read(row: &PgRow) -> Result<Effect, StoreError> {
    let job = JobId::from_uuid(column(row, "job")?);
    let place: i64 = column(row, "place")?;
    let place = u32::try_from(place).map_err(broken)?;
    effect_record::decode(job, place, column(row, "document")?)
}

/// Makes a verifying job due at `now` where it was due later.
pub(super) async fn hasten(
    caller: &Caller,
    job: JobId,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let statement = caller
        .statement(HASTEN)
        .bind(job.as_uuid())
        .bind(now.as_micros());
    column(&caller.row(statement).await?, "answer")
}
