//! What students see: hand in, look, and read in their own language how it stands. What was answered with 202 is durable,
//! and the same submission handed in again is the same one.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::json;
use surefoot::core::id::{JobId, Key, Kind, Tenant};
use surefoot::core::port::JobRecord;
use surefoot::{Changed, Client, Error, Job, Seen};
use surefoot_server::{Language, StatusFacts, status_text};

use crate::Fault;
use crate::book::Book;
use crate::grading::Grade;

/// How long a stream stays silent while nothing changes.
const WAIT: Duration = Duration::from_secs(15);

/// What every route shares.
#[derive(Clone)]
pub struct Desk {
    /// Hands in, and looks.
    pub client: Client,
    /// The grades.
    pub book: Book,
}

/// The routes of students.
pub fn routes(desk: Desk) -> Router {
    Router::new()
        .route("/submissions", post(hand_in))
        .route("/submissions/{submission}", get(show))
        .route("/submissions/{submission}/events", get(events))
        .route("/submissions/{submission}/attempts", get(attempts))
        .with_state(desk)
}

async fn hand_in(
    State(desk): State<Desk>,
    language: Language,
    Json(work): Json<Grade>,
) -> Result<Response, Refused> {
    let location = [(LOCATION, format!("/submissions/{}", work.submission))];
    let job = match desk.client.enqueue_job(&work).await {
        Ok(job) => job,
        Err(Error::Conflict(_)) => {
            return Err(Refused(
                StatusCode::CONFLICT,
                "another text was handed in as this submission".to_owned(),
            ));
        }
        Err(error @ (Error::Name(_) | Error::Payload(_))) => {
            return Err(Refused(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()));
        }
        Err(error) => return Err(away(error)),
    };
    let status = if job.created {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    let shown = shown(&desk, &work.submission, job.id, language).await?;
    Ok((status, location, language.headers(), Json(shown)).into_response())
}

async fn show(
    State(desk): State<Desk>,
    language: Language,
    Path(submission): Path<String>,
) -> Result<Response, Refused> {
    let job = held_by(&desk.client, &submission).await?;
    let shown = shown(&desk, &submission, job, language).await?;
    Ok((language.headers(), Json(shown)).into_response())
}

/// A submission as it is and each time it changes, until it is settled: for pages that show how it goes on.
async fn events(
    State(desk): State<Desk>,
    language: Language,
    Path(submission): Path<String>,
) -> Result<Response, Refused> {
    let job = held_by(&desk.client, &submission).await?;
    let stream = stream::unfold(Some(None), move |seen: Option<Option<Seen>>| {
        let (desk, submission) = (desk.clone(), submission.clone());
        async move {
            let seen = seen?;
            match desk.client.changed(job, seen.as_ref(), WAIT).await.ok()? {
                Changed::To(record) => {
                    let shown = told(&desk, &submission, &record, language).await.ok()?;
                    let goes_on = !record.job.state.name().is_settled();
                    let next = goes_on.then(|| Some(Seen::from(&*record)));
                    Some((Event::default().json_data(shown), next))
                }
                Changed::Same => Some((Ok(Event::default().comment("waiting")), Some(seen))),
                Changed::NotFound => None,
            }
        }
    });
    Ok((language.headers(), Sse::new(stream)).into_response())
}

/// What the model said on every try: for teachers, and for whoever doubts a grade.
async fn attempts(
    State(desk): State<Desk>,
    Path(submission): Path<String>,
) -> Result<Response, Refused> {
    let job = held_by(&desk.client, &submission).await?;
    let attempts = desk.book.attempts(job).await.map_err(refused_by_store)?;
    Ok(Json(attempts).into_response())
}

async fn shown(
    desk: &Desk,
    submission: &str,
    job: JobId,
    language: Language,
) -> Result<serde_json::Value, Refused> {
    let record = desk.client.job(job).await.map_err(away)?;
    let record = record.ok_or_else(unknown)?;
    told(desk, submission, &record, language).await
}

async fn told(
    desk: &Desk,
    submission: &str,
    record: &JobRecord,
    language: Language,
) -> Result<serde_json::Value, Refused> {
    let job = record.job.id;
    let grade = desk
        .book
        .grade(submission)
        .await
        .map_err(refused_by_store)?;
    let effects = desk.client.effects(job).await.map_err(away)?;
    let cost: u64 = effects.iter().map(|effect| effect.cost.booked()).sum();
    Ok(json!({
        "submission": submission,
        "job": job.to_string(),
        "state": record.job.state.name().as_str(),
        "text": text(record, desk.client.now(), language),
        "tries": record.job.counts.starts,
        "cost_micros": cost,
        "grade": grade,
    }))
}

/// How it stands, in the words that Surefoot has for every state.
fn text(record: &JobRecord, now: surefoot::core::time::Timestamp, language: Language) -> String {
    let facts = StatusFacts {
        state: &record.job.state,
        starts: record.job.counts.starts,
        // The model may have answered and nobody heard it. That is nothing to the student: there is a grade when it stands
        // in our book, and until then there is none.
        may_have_happened: false,
        now,
    };
    status_text(facts, language)
}

/// The job that grades a submission.
async fn held_by(client: &Client, submission: &str) -> Result<JobId, Refused> {
    let (Ok(kind), Ok(key)) = (Kind::new(Grade::KIND), Key::new(submission)) else {
        return Err(unknown());
    };
    let found = client.find(&Tenant::single(), &kind, &key).await;
    found.map_err(away)?.ok_or_else(unknown)
}

/// Why a student is turned away.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(status, detail) = self;
        (status, Json(json!({ "detail": detail }))).into_response()
    }
}

fn unknown() -> Refused {
    Refused(
        StatusCode::NOT_FOUND,
        "there is no such submission".to_owned(),
    )
}

/// The same request may be sent again: a submission is handed in once.
fn away(error: impl Into<Fault>) -> Refused {
    eprintln!("ai-judge: {}", error.into());
    Refused(StatusCode::SERVICE_UNAVAILABLE, "try again".to_owned())
}

fn refused_by_store(failure: surefoot::Failure) -> Refused {
    away(failure.text.as_str())
}
