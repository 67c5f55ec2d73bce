//! What people do to dead letters: replay, ignore, edit. Each is one function in the database, which locks the job, looks at
//! its state and writes down what was done.

use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::job::{DeadReason, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::port::{By, Replay, ReplayEffect, Steered};
use surefoot_core::time::Timestamp;

use super::call::{Caller, Statement};
use super::fault::broken;
use super::row::column;

statements! {
    REPLAY = "-- replay
        select surefoot.replay($1, $2, $3, $4, $5, $6) as answer";
    IGNORE = "-- ignore
        select surefoot.ignore($1, $2, $3, $4) as answer";
    EDIT = "-- edit
        select surefoot.edit($1, $2, $3, $4, $5) as answer";
}

/// Makes a dead letter pending again.
pub(super) async fn replay(
    caller: &Caller,
    job: JobId,
    replay: &Replay,
    now: Timestamp,
) -> Result<Steered, StoreError> {
    let effect = replay.effect.map(|effect| match effect {
        ReplayEffect::Same => "same",
        ReplayEffect::New => "new",
    });
    let need_choice = DeadReason::ALL
        .into_iter()
        .filter(|reason| reason.needs_effect_choice());
    let statement = caller
        .statement(REPLAY)
        .bind(job.as_uuid())
        .bind(effect)
        .bind(need_choice.map(DeadReason::as_str).collect::<Vec<_>>());
    steered(caller, signed(statement, &replay.by, now)).await
}

/// Sets a dead letter aside for good.
pub(super) async fn ignore(
    caller: &Caller,
    job: JobId,
    by: &By,
    now: Timestamp,
) -> Result<Steered, StoreError> {
    let statement = caller.statement(IGNORE).bind(job.as_uuid());
    steered(caller, signed(statement, by, now)).await
}

/// Replaces a dead letter's payload.
pub(super) async fn edit(
    caller: &Caller,
    job: JobId,
    payload: &Payload,
    by: &By,
    now: Timestamp,
) -> Result<Steered, StoreError> {
    let statement = caller
        .statement(EDIT)
        .bind(job.as_uuid())
        .bind(payload.as_str().to_owned());
    steered(caller, signed(statement, by, now)).await
}

/// With who orders it, why and when.
pub(super) fn signed<'q>(statement: Statement<'q>, by: &By, now: Timestamp) -> Statement<'q> {
    statement
        .bind(by.actor.as_str().to_owned())
        .bind(by.reason.as_str().to_owned())
        .bind(now.as_micros())
}

async fn steered(caller: &Caller, statement: Statement<'_>) -> Result<Steered, StoreError> {
    Ok(match answer(caller, statement).await?.as_deref() {
        None => Steered::NotFound,
        Some("done") => Steered::Done,
        Some("needs_effect") => Steered::NeedsEffectChoice,
        Some(state) => Steered::Refused(state_name(state)?),
    })
}

/// What the database said: what was done, or the state in which that cannot be; `None` where there is no such job.
pub(super) async fn answer(
    caller: &Caller,
    statement: Statement<'_>,
) -> Result<Option<String>, StoreError> {
    let row = caller.row(statement).await?;
    column(&row, "answer")
}

pub(super) fn state_name(text: &str) -> Result<StateName, StoreError> {
    StateName::parse(text).ok_or_else(|| broken(format_args!("{text:?} is no state of a job")))
}
