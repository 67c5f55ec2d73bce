//! Rows of jobs. Every text and number is checked again on its way in: a row that no code of ours writes is a broken
//! invariant that names its column, not a guess.

use sqlx::postgres::{PgRow, Postgres};
use sqlx::{Decode, Row, Type};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::{
    Attempt, AttemptOutcome, Counts, DeadReason, Death, Job, JobState, LeasedJob, Run, StateName,
    TraceContext,
};
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::text::{ErrorFingerprint, ErrorText};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::fault::broken;

/// The columns that every row of a job begins with, in this order.
const COMMON: [&str; 27] = [
    "id",
    "seq",
    "tenant",
    "kind",
    "key",
    "queue",
    "priority",
    "order_key",
    "concurrency_key",
    "payload",
    "revision",
    "generation",
    "trace",
    "enqueued_at",
    "deadline_at",
    "starts",
    "failed",
    "crashed",
    "deferred",
    "unknown",
    "due_at",
    "epoch",
    "worker",
    "started_at",
    "lease_until",
    "recovery",
    "cancel_requested",
];
/// The columns of `known_job` that follow.
const KNOWN: [&str; 10] = [
    "state",
    "ended_at",
    "text",
    "result",
    "dead_reason",
    "fingerprint",
    "attempt_ended_at",
    "outcome",
    "attempt_error",
    "attempt_late",
];

/// A row of which the columns from `first` on are those of a job.
pub(super) struct JobRow<'r> {
    row: &'r PgRow,
    first: usize,
}

impl<'r> JobRow<'r> {
    pub(super) fn at(row: &'r PgRow, first: usize) -> Self {
        Self { row, first }
    }

    fn name(place: usize) -> &'static str {
        COMMON
            .get(place)
            .or_else(|| KNOWN.get(place - COMMON.len()))
            .copied()
            .unwrap_or("a column")
    }

    fn read<T>(&self, place: usize) -> Result<T, StoreError>
    where
        T: Decode<'r, Postgres> + Type<Postgres>,
    {
        self.row.try_get(self.first + place).map_err(|error| {
            broken(format_args!(
                "column {} of a job: {error}",
                Self::name(place)
            ))
        })
    }

    fn parsed<T, E: std::fmt::Display>(
        &self,
        place: usize,
        parse: impl FnOnce(&'r str) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        let text: &'r str = self.read(place)?;
        parse(text).map_err(|error| {
            broken(format_args!(
                "column {} of a job: {error}",
                Self::name(place)
            ))
        })
    }

    fn parsed_option<T, E: std::fmt::Display>(
        &self,
        place: usize,
        parse: impl FnOnce(&'r str) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        let text: Option<&'r str> = self.read(place)?;
        let parsed = text.map(parse).transpose();
        parsed.map_err(|error| {
            broken(format_args!(
                "column {} of a job: {error}",
                Self::name(place)
            ))
        })
    }

    fn time(&self, place: usize) -> Result<Timestamp, StoreError> {
        self.read(place).map(Timestamp::from_micros)
    }

    fn count(&self, place: usize) -> Result<u32, StoreError> {
        let number: i32 = self.read(place)?;
        u32::try_from(number).map_err(|_| {
            broken(format_args!(
                "column {} of a job is {number}",
                Self::name(place)
            ))
        })
    }

    /// Where it stands among jobs of its priority: due time, then the order of enqueuing.
    pub(super) fn place(&self) -> Result<(i64, i64), StoreError> {
        Ok((self.read(20)?, self.read(1)?))
    }

    fn job<S>(&self, state: S) -> Result<Job<S>, StoreError> {
        let id: Uuid = self.read(0)?;
        let payload: String = self.read(9)?;
        let deadline: Option<i64> = self.read(14)?;
        Ok(Job {
            id: JobId::from_uuid(id),
            tenant: self.parsed(2, str::parse)?,
            kind: self.parsed(3, str::parse)?,
            key: self.parsed_option(4, str::parse)?,
            queue: self.parsed(5, str::parse)?,
            priority: self.read(6)?,
            order_key: self.parsed_option(7, str::parse)?,
            concurrency_key: self.parsed_option(8, str::parse)?,
            payload: Payload::from_store(payload),
            revision: self.count(10)?,
            generation: self.count(11)?,
            trace: self
                .parsed_option(12, |text| TraceContext::parse(text).ok_or("no traceparent"))?,
            enqueued_at: self.time(13)?,
            deadline_at: deadline.map(Timestamp::from_micros),
            counts: self.counts()?,
            state,
        })
    }

    fn counts(&self) -> Result<Counts, StoreError> {
        Ok(Counts {
            starts: self.count(15)?,
            failed: self.count(16)?,
            crashed: self.count(17)?,
            deferred: self.count(18)?,
            unknown: self.count(19)?,
        })
    }

    /// The job, which is known to be running.
    pub(super) fn leased(&self) -> Result<LeasedJob, StoreError> {
        self.job(self.run()?)
    }

    fn run(&self) -> Result<Run, StoreError> {
        Ok(Run {
            epoch: Epoch(self.read(21)?),
            worker: self.parsed(22, str::parse)?,
            started_at: self.time(23)?,
            lease_until: self.time(24)?,
            recovery: self.parsed_option(25, |text| Recovery::parse(text).ok_or("no recovery"))?,
            cancel_requested: self.read(26)?,
        })
    }

    /// The job of a row of `known_job`, in whatever state.
    pub(super) fn known(&self) -> Result<Job, StoreError> {
        let state = match self.parsed(27, |text| StateName::parse(text).ok_or("no state"))? {
            StateName::Pending => JobState::Pending {
                due_at: self.time(20)?,
            },
            StateName::Running => JobState::Running(self.run()?),
            StateName::Retrying => JobState::Retrying {
                due_at: self.time(20)?,
                error: self.text(29)?,
            },
            StateName::Verifying => JobState::Verifying {
                due_at: self.time(20)?,
                error: self.text(29)?,
            },
            StateName::Succeeded => {
                let result: String = self.read(30)?;
                JobState::Succeeded {
                    at: self.time(28)?,
                    result: Payload::from_store(result),
                }
            }
            StateName::Dead => JobState::Dead(self.death()?),
            StateName::Cancelled => JobState::Cancelled {
                at: self.time(28)?,
                reason: self.text(29)?,
            },
            StateName::Ignored => JobState::Ignored {
                at: self.time(28)?,
                reason: self.text(29)?,
            },
        };
        self.job(state)
    }

    fn death(&self) -> Result<Death, StoreError> {
        Ok(Death {
            at: self.time(28)?,
            reason: self.parsed(31, |text| DeadReason::parse(text).ok_or("no dead reason"))?,
            error: self.text(29)?,
            fingerprint: fingerprint(self.read(32)?),
        })
    }

    fn text(&self, place: usize) -> Result<ErrorText, StoreError> {
        let text: &str = self.read(place)?;
        Ok(ErrorText::from(text))
    }

    /// The attempt that stands in the job's own row: the one that runs, or the last of a finished job.
    pub(super) fn last_attempt(&self) -> Result<Option<Attempt>, StoreError> {
        let running = self.read::<&str>(27)? == StateName::Running.as_str();
        let outcome = self.parsed_option(34, outcome)?;
        if !running && outcome.is_none() {
            return Ok(None);
        }
        let ended_at: Option<i64> = self.read(33)?;
        let error: Option<&str> = self.read(35)?;
        let late: Option<&str> = self.read(36)?;
        Ok(Some(Attempt {
            late: late.map(ErrorText::from),
            number: self.count(15)?,
            epoch: Epoch(self.read(21)?),
            worker: self.parsed(22, str::parse)?,
            started_at: self.time(23)?,
            ended_at: ended_at.map(Timestamp::from_micros),
            outcome,
            error: error.map(ErrorText::from),
        }))
    }
}

/// The outcome of an attempt, as it is stored.
pub(super) fn outcome(text: &str) -> Result<AttemptOutcome, &'static str> {
    AttemptOutcome::parse(text).ok_or("no outcome of an attempt")
}

/// A fingerprint's 64 bits, as they are stored.
pub(super) fn fingerprint(bits: i64) -> ErrorFingerprint {
    ErrorFingerprint::from_bits(bits.cast_unsigned())
}

/// A value of a column of any other row.
pub(super) fn column<'r, T>(row: &'r PgRow, name: &'static str) -> Result<T, StoreError>
where
    T: Decode<'r, Postgres> + Type<Postgres>,
{
    row.try_get(name)
        .map_err(|error| broken(format_args!("column {name}: {error}")))
}

/// A checked value of a text column of any other row.
pub(super) fn parsed<'r, T, E: std::fmt::Display>(
    row: &'r PgRow,
    name: &'static str,
    parse: impl FnOnce(&'r str) -> Result<T, E>,
) -> Result<T, StoreError> {
    parse(column(row, name)?).map_err(|error| broken(format_args!("column {name}: {error}")))
}
