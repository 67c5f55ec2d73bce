//! Effects: what is known of each is written down by compare and swap, under the holder's epoch where the write has one.
//! Only the version, the epoch and the rows of this transaction decide; nothing here judges what a document says.

use rusqlite::{Connection, Row};
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::port::{EffectWrite, EffectWritten, Extended, Extension};
use surefoot_core::time::Timestamp;

use super::ledger::{Ledger, rows};
use super::{lease, row};
use crate::effect_record;

/// The fence of a holder, over ?3 epoch and the number of the job: a witness has none (null).
macro_rules! held {
    ($seq:literal) => {
        concat!(
            "(?3 is null or exists (select 1 from surefoot_job as j
                where j.seq = ",
            $seq,
            " and j.epoch = ?3 and j.state = 'running'))"
        )
    };
}

statements! {
    FIRST = concat!("-- write_effects: the first that is known of an effect
        insert into surefoot_effect (seq, place, version, state, name, document)
        select i.seq, ?2, ?4, ?5, ?6, ?7 from surefoot_intent as i where i.id = ?1 and ", held!("i.seq"), "
        on conflict (seq, place) do nothing");
    NEXT = concat!("-- write_effects: what follows on what is known of an effect
        update surefoot_effect set version = ?4, state = ?5, name = ?6, document = ?7
        where seq = (select seq from surefoot_intent where id = ?1) and place = ?2
            and version = ?4 - 1 and ", held!("surefoot_effect.seq"));
    STANDING = "-- write_effects: why a write did not apply: the epoch under which the job runs, and what is known
        select j.epoch, e.document from surefoot_intent as i
        left join surefoot_job as j on j.seq = i.seq and j.state = 'running'
        left join surefoot_effect as e on e.seq = i.seq and e.place = ?2
        where i.id = ?1";
    OF_JOB = "-- effects: those of a job, by place
        select place, document from surefoot_effect
        where seq = (select seq from surefoot_intent where id = ?1) order by place";
    HASTEN = "-- hasten: a verifying job becomes due
        update surefoot_job set due_at = min(due_at, ?2)
        where seq = (select seq from surefoot_intent where id = ?1) and state = 'verifying'";
}

/// The version of an effect of which nothing was known.
const VERSION_FIRST: u32 = 1;

/// A write with the document of its effect, which is made before the writer's turn.
pub(super) struct Prepared {
    write: EffectWrite,
    document: String,
}

impl Prepared {
    pub(super) fn of(write: &EffectWrite) -> Result<Self, StoreError> {
        Ok(Self {
            write: write.clone(),
            document: effect_record::encode(&write.effect)?,
        })
    }
}

/// Writes an effect down.
pub(super) fn write(ledger: &Ledger<'_>, prepared: &Prepared) -> Result<EffectWritten, StoreError> {
    let effect = &prepared.write.effect;
    let statement = if effect.version == VERSION_FIRST {
        FIRST
    } else {
        NEXT
    };
    let written = ledger.execute(
        statement,
        (
            effect.job.as_uuid().into_bytes(),
            effect.place,
            prepared.write.fence.map(|epoch| epoch.0),
            effect.version,
            effect.state.as_str(),
            effect.name.as_str(),
            prepared.document.as_str(),
        ),
    )?;
    if written == 0 {
        return refused(ledger, &prepared.write);
    }
    make_room(ledger, &prepared.write)?;
    Ok(EffectWritten::Applied)
}

/// Extends the holder's lease, so that the call has room in it. The fence held in this transaction, so the lease does.
fn make_room(ledger: &Ledger<'_>, write: &EffectWrite) -> Result<(), StoreError> {
    let (Some(epoch), Some(until)) = (write.fence, write.lease_until) else {
        return Ok(());
    };
    let job = write.effect.job;
    match lease::extend(ledger, &Extension { job, epoch, until })? {
        Extended::Held { .. } => Ok(()),
        Extended::Lost => Err(StoreError::Broken(format!(
            "job {job} stopped running under epoch {epoch} while an effect of it was written"
        ))),
    }
}

fn refused(ledger: &Ledger<'_>, write: &EffectWrite) -> Result<EffectWritten, StoreError> {
    let effect = &write.effect;
    let place = (effect.job.as_uuid().into_bytes(), effect.place);
    let standing = ledger.first(STANDING, place, |found| {
        Ok((
            row::column::<Option<i64>>(found, 0)?.map(Epoch),
            row::column::<Option<String>>(found, 1)?,
        ))
    })?;
    let Some((epoch, document)) = standing else {
        return Ok(EffectWritten::NotFound);
    };
    let known = document
        .map(|text| effect_record::decode(effect.job, effect.place, &text))
        .transpose()?;
    Ok(if known.as_ref() == Some(effect) {
        EffectWritten::Already
    } else if write.fence.is_some() && write.fence != epoch {
        EffectWritten::Stale
    } else {
        EffectWritten::Changed(known.map(Box::new))
    })
}

/// The effects of jobs, by job in the order asked and by place.
pub(super) fn effects(connection: &Connection, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
    let mut effects = Vec::new();
    for job in jobs {
        let id = job.as_uuid().into_bytes();
        effects.extend(rows(connection, OF_JOB, [id], |found| effect(*job, found))?);
    }
    Ok(effects)
}

/// Makes a verifying job due; answers whether it is verifying.
pub(super) fn hasten(ledger: &Ledger<'_>, job: JobId, now: Timestamp) -> Result<bool, StoreError> {
    let due = (job.as_uuid().into_bytes(), now.as_micros());
    Ok(ledger.execute(HASTEN, due)? > 0)
}

fn effect(job: JobId, found: &Row<'_>) -> Result<Effect, StoreError> {
    let document: String = row::column(found, 1)?;
    effect_record::decode(job, row::count(found, 0)?, &document)
}
