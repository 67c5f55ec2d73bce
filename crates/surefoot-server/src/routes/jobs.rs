//! Handing jobs in and looking at them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use surefoot::{Client, Intent};
use surefoot_core::id::JobId;
use surefoot_core::job::{Counts, Job, JobState};
use surefoot_core::port::{self, JobRecord};

use crate::extract::{Body, JobPath, Query, Trace};
use crate::language::Language;
use crate::problem::{Problem, ProblemDocument};
use crate::state::App;
use crate::wire::{EnqueueBody, EnqueueOutcome, Enqueued, JobDocument, JobPage, Json, PageQuery};

/// Hands in a job. What was answered with 202 is durable.
#[utoipa::path(
    post,
    path = "/v1/jobs",
    operation_id = "enqueue_job",
    tag = "jobs",
    params(("traceparent" = Option<String>, Header, description = "W3C trace context, kept with the job")),
    request_body = EnqueueBody,
    responses(
        (status = 202, description = "The job was created", body = Enqueued,
            headers(("Location" = String, description = "Where the job is"))),
        (status = 200, description = "The key was there already, with the same payload: the job as it is",
            body = Enqueued, headers(("Location" = String, description = "Where the job is"))),
        (status = 409, description = "key-conflict: the key belongs to another payload", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn enqueue(
    State(app): State<App>,
    language: Language,
    Trace(trace): Trace,
    Body(body): Body<EnqueueBody>,
) -> Result<Response, Problem> {
    let intent = body.into_intent(trace)?;
    let (status, outcome, id) = match app.client().enqueue(intent.clone()).await? {
        port::Enqueued::Created(id) => (StatusCode::ACCEPTED, EnqueueOutcome::Created, id),
        port::Enqueued::Existing(id) => (StatusCode::OK, EnqueueOutcome::Existing, id),
        port::Enqueued::Conflict(holder) => return Err(Problem::key_conflict(holder)),
    };
    let record = match (outcome, app.client().job(id).await) {
        (_, Ok(Some(record))) => record,
        (EnqueueOutcome::Created, Ok(None) | Err(_)) => as_handed_in(app.client(), id, intent),
        (EnqueueOutcome::Existing, Ok(None)) => return Err(Problem::no_job(id)),
        (EnqueueOutcome::Existing, Err(error)) => return Err(error.into()),
    };
    let effects = app.effects(&record.job).await?;
    let answer = Enqueued {
        outcome,
        job: JobDocument::new(&record, &effects, app.view(language)),
    };
    let location = [(LOCATION, format!("/v1/jobs/{id}"))];
    Ok((language.headers(), location, Json(status, answer)).into_response())
}

/// A job that is durable but cannot be read at this moment, as it was handed in. That the database went away after
/// the commit must not make its caller hand it in again.
fn as_handed_in(client: &Client, id: JobId, intent: Intent) -> JobRecord {
    let now = client.now();
    let deadline = || {
        client
            .policies()
            .policy(&intent.kind)
            .deadline
            .map(|limit| now.after(limit))
    };
    let deadline_at = intent.deadline_at.or_else(deadline);
    let job = Job {
        id,
        tenant: intent.tenant,
        kind: intent.kind,
        key: intent.key,
        queue: intent.queue,
        priority: intent.priority,
        order_key: intent.order_key,
        concurrency_key: intent.concurrency_key,
        payload: intent.payload,
        revision: 0,
        generation: 1,
        trace: intent.trace,
        enqueued_at: now,
        deadline_at,
        counts: Counts::default(),
        state: JobState::Pending {
            due_at: intent.run_at.unwrap_or(now),
        },
    };
    JobRecord {
        job,
        attempts: Vec::new(),
        revisions: Vec::new(),
        actions: Vec::new(),
    }
}

/// Jobs, the latest enqueued first.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    operation_id = "list_jobs",
    tag = "jobs",
    params(PageQuery),
    responses((status = 200, description = "A page of jobs", body = JobPage))
)]
pub(crate) async fn list(
    State(app): State<App>,
    language: Language,
    Query(query): Query<PageQuery>,
) -> Result<Response, Problem> {
    let page = query.into_page()?;
    let one_more = page.limit.saturating_add(1);
    let jobs = app
        .client()
        .jobs(&page.filter, page.before, one_more)
        .await?;
    let answer = JobPage::new(&jobs, page.limit, app.view(language));
    Ok((language.headers(), Json(StatusCode::OK, answer)).into_response())
}

/// One job with its attempts.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    operation_id = "show_job",
    tag = "jobs",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The job", body = JobDocument),
    )
)]
pub(crate) async fn show(
    State(app): State<App>,
    language: Language,
    JobPath(id): JobPath,
) -> Result<Response, Problem> {
    let record = app
        .client()
        .job(id)
        .await?
        .ok_or_else(|| Problem::no_job(id))?;
    let effects = app.effects(&record.job).await?;
    let answer = JobDocument::new(&record, &effects, app.view(language));
    Ok((language.headers(), Json(StatusCode::OK, answer)).into_response())
}
