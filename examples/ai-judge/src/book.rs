//! The rows of the service, in the same file as its jobs: what the model said on each try, and the grade. The primary key of
//! `grade` is the last guard: whatever goes wrong above it, a submission has one.

use std::sync::Arc;

use serde::Serialize;
use surefoot::core::id::JobId;
use surefoot::{Cx, Failure, Outcome};
use surefoot_store::sqlite::SqliteStore;
use surefoot_store::sqlite::rusqlite::{Connection, OptionalExtension, Row, Transaction};

use crate::grading::{Grade, Graded};
use crate::model::Raw;

const TABLES: &str = "
    create table if not exists grade (
        submission text primary key,
        job text not null unique,
        score integer not null check (score between 0 and 10),
        feedback text not null
    ) strict;
    create table if not exists grading_attempt (
        job text not null,
        number integer not null,
        status integer,
        raw text,
        cost_micros integer not null,
        primary key (job, number)
    ) strict";

/// What the model was asked and said on one try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Which try of the job.
    pub number: u32,
    /// The status of the answer; `None` when none came.
    pub status: Option<u16>,
    /// The answer, word for word.
    pub raw: Option<String>,
    /// What the try cost, in millionths: what was expected where nobody knows.
    pub cost_micros: u64,
}

/// The rows; cheap to clone.
#[derive(Clone, Debug)]
pub struct Book(Arc<SqliteStore>);

impl Book {
    /// The book in the file of a store; its tables are made when they are not there.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn open(store: Arc<SqliteStore>) -> Outcome<Self> {
        let made = |tx: &Transaction<'_>| Ok::<_, Failure>(tx.execute_batch(TABLES)?);
        store.write(made).await?;
        Ok(Self(store))
    }

    /// Writes down that the model is asked, before it is: whatever happens next, the try is on record with its cost.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn asks(&self, cx: &Cx, cost_micros: u64) -> Outcome<()> {
        let (job, number) = (cx.job(), cx.attempt());
        let asked = move |tx: &Transaction<'_>| {
            tx.execute(
                "insert into grading_attempt (job, number, cost_micros) values (?1, ?2, ?3)
                 on conflict do nothing",
                (job.to_string(), number, signed(cost_micros)),
            )?;
            Ok(())
        };
        self.0.write(asked).await
    }

    /// Corrects what a try cost that brought no answer.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn costs(&self, cx: &Cx, cost_micros: u64) -> Outcome<()> {
        let (job, number) = (cx.job(), cx.attempt());
        let costs = move |tx: &Transaction<'_>| {
            tx.execute(
                "update grading_attempt set cost_micros = ?3 where job = ?1 and number = ?2",
                (job.to_string(), number, signed(cost_micros)),
            )?;
            Ok(())
        };
        self.0.write(costs).await
    }

    /// Keeps what the model said, word for word.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn hears(&self, cx: &Cx, raw: &Raw, cost_micros: u64) -> Outcome<()> {
        let (job, number, raw) = (cx.job(), cx.attempt(), raw.clone());
        let heard = move |tx: &Transaction<'_>| {
            tx.execute(
                "update grading_attempt set status = ?3, raw = ?4, cost_micros = ?5 where job = ?1 and number = ?2",
                (job.to_string(), number, raw.status, raw.body, signed(cost_micros)),
            )?;
            Ok(())
        };
        self.0.write(heard).await
    }

    /// Makes a grade final: the row of the grade and the end of the job are one commit. A worker that has lost its lease
    /// writes neither.
    ///
    /// # Errors
    /// The lease is lost, the submission has a grade already, or what the database answered. Nothing was written then.
    pub async fn decide(&self, cx: &Cx, work: &Grade, graded: Graded) -> Outcome<Graded> {
        let (cx, submission) = (cx.clone(), work.submission.clone());
        let decided = move |tx: &Transaction<'_>| {
            tx.execute(
                "insert into grade (submission, job, score, feedback) values (?1, ?2, ?3, ?4)",
                (
                    submission,
                    cx.job().to_string(),
                    graded.score,
                    &graded.feedback,
                ),
            )?;
            SqliteStore::settle_in(tx, &cx.settlement(&graded)?)?;
            Ok(graded)
        };
        self.0.write(decided).await
    }

    /// The grade of a submission.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn grade(&self, submission: &str) -> Outcome<Option<Graded>> {
        let submission = submission.to_owned();
        let look = move |view: &Connection| {
            let select = "select score, feedback from grade where submission = ?1";
            let read = |row: &Row<'_>| {
                Ok(Graded {
                    score: row.get(0)?,
                    feedback: row.get(1)?,
                })
            };
            Ok(view.query_row(select, [submission], read).optional()?)
        };
        self.0.view(look).await
    }

    /// Every try of a job, in order.
    ///
    /// # Errors
    /// What the database answered.
    pub async fn attempts(&self, job: JobId) -> Outcome<Vec<Attempt>> {
        let look = move |view: &Connection| {
            let mut select = view.prepare(
                "select number, status, raw, cost_micros from grading_attempt where job = ?1 order by number",
            )?;
            let read = |row: &Row<'_>| {
                Ok(Attempt {
                    number: row.get(0)?,
                    status: row.get(1)?,
                    raw: row.get(2)?,
                    cost_micros: row.get::<_, i64>(3)?.unsigned_abs(),
                })
            };
            let attempts: Result<Vec<Attempt>, _> =
                select.query_map([job.to_string()], read)?.collect();
            Ok(attempts?)
        };
        self.0.view(look).await
    }
}

/// SQLite has no unsigned numbers.
fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}
