//! What people do to dead letters: replay, ignore, edit. Each order that changes something leaves an action; one that
//! does not fit the job's state is refused by name.

use rusqlite::Row;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::{DeadReason, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::port::{ActionVerb, By, Replay, ReplayEffect, Steered};
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::{order_line, row};

statements! {
    DEAD = "-- steer: a dead letter
        select seq, tenant, kind, queue, order_key, dead_reason, epoch from surefoot_job
        where seq = (select seq from surefoot_intent where id = ?1) and state = 'dead'";
    STATE = "-- steer: the state of a job
        select coalesce(j.state, h.state) from surefoot_intent as i
        left join surefoot_job as j on j.seq = i.seq
        left join surefoot_job_history as h on h.seq = i.seq
        where i.id = ?1";
    ACT = "-- steer: what was done goes on record
        insert into surefoot_action (seq, verb, at, actor, reason) values (?1, ?2, ?3, ?4, ?5)";
    REPLAY = "-- replay: a dead letter waits again, with its counts at zero but for its starts; what is
        -- unknown of an effect stays so until there is a new one (?5)
        update surefoot_job set state = 'pending', readiness = ?3, due_at = ?4, failed = 0, crashed = 0, deferred = 0,
            unknown = case when ?5 then 0 else unknown end,
            dead_at = null, dead_reason = null, fingerprint = null, error = null,
            deadline_at = case when deadline_at > ?4 then deadline_at end
        where seq = ?1 and epoch = ?2 and state = 'dead'";
    REPLAY_INTENT = "-- replay: a deadline that passed is taken away; the provider may be to see a new effect (?3)
        update surefoot_intent set generation = generation + ?3,
            deadline_at = case when deadline_at > ?2 then deadline_at end
        where seq = ?1";
    SET_ASIDE = "-- ignore: a dead letter leaves the table of what waits and runs
        delete from surefoot_job where seq = ?1 and epoch = ?2 and state = 'dead'
        returning starts, failed, crashed, deferred, unknown";
    HISTORY = "-- ignore: what was set aside is appended to history
        insert into surefoot_job_history (seq, id, state, ended_at, starts, failed, crashed, deferred, unknown,
            reason)
        values (?1, ?2, 'ignored', ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    REVISION = "-- edit: the payload so far is kept
        insert into surefoot_revision (seq, number, payload, replaced_at, actor, reason)
        select seq, revision, payload, ?2, ?3, ?4 from surefoot_intent where seq = ?1";
    EDIT = "-- edit: the payload from here on
        update surefoot_intent set payload = ?2, revision = revision + 1 where seq = ?1";
}

/// A dead letter.
struct DeadLetter {
    seq: i64,
    tenant: Tenant,
    kind: Kind,
    queue: Queue,
    order_key: Option<OrderKey>,
    reason: DeadReason,
    epoch: Epoch,
}

/// Makes a dead letter pending again.
pub(super) fn replay(
    ledger: &Ledger<'_>,
    job: JobId,
    replay: &Replay,
    now: Timestamp,
) -> Result<Steered, StoreError> {
    let letter = match dead(ledger, job)? {
        Ok(letter) => letter,
        Err(refusal) => return Ok(refusal),
    };
    let verb = match replay.effect {
        None if letter.reason.needs_effect_choice() => return Ok(Steered::NeedsEffectChoice),
        None | Some(ReplayEffect::Same) => ActionVerb::Replay,
        Some(ReplayEffect::New) => ActionVerb::ReplayNew,
    };
    let is_new = verb == ActionVerb::ReplayNew;
    ledger.execute_one(REPLAY_INTENT, (letter.seq, now.as_micros(), is_new))?;
    let order_key = letter.order_key.as_ref();
    let place = order_line::come_back(ledger, letter.seq, &letter.tenant, order_key)?;
    let waits = (
        letter.seq,
        letter.epoch.0,
        place.readiness(),
        now.as_micros(),
        is_new,
    );
    ledger.execute_one(REPLAY, waits)?;
    act(ledger, letter.seq, verb, &replay.by, now)?;
    ledger.moved(
        &letter.queue,
        &letter.kind,
        Some(StateName::Dead),
        Some(StateName::Pending),
    );
    Ok(Steered::Done)
}

/// Sets a dead letter aside for good.
pub(super) fn ignore(
    ledger: &Ledger<'_>,
    job: JobId,
    by: &By,
    now: Timestamp,
) -> Result<Steered, StoreError> {
    let letter = match dead(ledger, job)? {
        Ok(letter) => letter,
        Err(refusal) => return Ok(refusal),
    };
    let counts = ledger.first(SET_ASIDE, (letter.seq, letter.epoch.0), |found| {
        Ok((
            row::count(found, 0)?,
            row::count(found, 1)?,
            row::count(found, 2)?,
            row::count(found, 3)?,
            row::count(found, 4)?,
        ))
    })?;
    let Some((starts, failed, crashed, deferred, unknown)) = counts else {
        return Err(StoreError::Broken(format!(
            "dead letter {job} went away while it was ignored"
        )));
    };
    let id = job.as_uuid();
    let reason = by.reason.as_str();
    ledger.execute_one(
        HISTORY,
        (
            letter.seq,
            id.into_bytes(),
            now.as_micros(),
            starts,
            failed,
            crashed,
            deferred,
            unknown,
            reason,
        ),
    )?;
    act(ledger, letter.seq, ActionVerb::Ignore, by, now)?;
    ledger.moved(&letter.queue, &letter.kind, Some(StateName::Dead), None);
    Ok(Steered::Done)
}

/// Replaces a dead letter's payload.
pub(super) fn edit(
    ledger: &Ledger<'_>,
    job: JobId,
    payload: &Payload,
    by: &By,
    now: Timestamp,
) -> Result<Steered, StoreError> {
    let letter = match dead(ledger, job)? {
        Ok(letter) => letter,
        Err(refusal) => return Ok(refusal),
    };
    let replaced = (
        letter.seq,
        now.as_micros(),
        by.actor.as_str(),
        by.reason.as_str(),
    );
    ledger.execute_one(REVISION, replaced)?;
    ledger.execute_one(EDIT, (letter.seq, payload.as_str()))?;
    act(ledger, letter.seq, ActionVerb::Edit, by, now)?;
    Ok(Steered::Done)
}

/// Puts on record what a person did to a job.
pub(super) fn act(
    ledger: &Ledger<'_>,
    seq: i64,
    verb: ActionVerb,
    by: &By,
    now: Timestamp,
) -> Result<(), StoreError> {
    let action = (
        seq,
        verb.as_str(),
        now.as_micros(),
        by.actor.as_str(),
        by.reason.as_str(),
    );
    ledger.execute_one(ACT, action)
}

/// The state of a job; `None` when there is no such job.
pub(super) fn state_of(ledger: &Ledger<'_>, job: JobId) -> Result<Option<StateName>, StoreError> {
    ledger.first(STATE, [job.as_uuid().into_bytes()], |found| {
        row::word(found, 0, StateName::parse)
    })
}

/// The dead letter, or why there is none to steer.
fn dead(ledger: &Ledger<'_>, job: JobId) -> Result<Result<DeadLetter, Steered>, StoreError> {
    match ledger.first(DEAD, [job.as_uuid().into_bytes()], dead_letter)? {
        Some(letter) => Ok(Ok(letter)),
        None => Ok(Err(
            state_of(ledger, job)?.map_or(Steered::NotFound, Steered::Refused)
        )),
    }
}

fn dead_letter(found: &Row<'_>) -> Result<DeadLetter, StoreError> {
    Ok(DeadLetter {
        seq: row::column(found, 0)?,
        tenant: row::name(found, 1)?,
        kind: row::name(found, 2)?,
        queue: row::name(found, 3)?,
        order_key: row::name_if_any(found, 4)?,
        reason: row::word(found, 5, DeadReason::parse)?,
        epoch: Epoch(row::column(found, 6)?),
    })
}
