//! Pull workers in any language: claim, extend, report.

use axum::extract::State;
use axum::http::StatusCode;
use surefoot::LeaseExtended;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::settle::Report;

use crate::extract::{Body, JobPath};
use crate::problem::{Problem, ProblemDocument};
use crate::state::App;
use crate::wire::{
    ClaimBody, EpochBody, Extension, FailBody, Json, Leases, ReportOutcome, Reported, SucceedBody,
    UnknownBody, lease,
};

/// Claims jobs. It does not wait: without a due job the list is empty.
#[utoipa::path(
    post,
    path = "/v1/leases",
    operation_id = "claim_jobs",
    tag = "leases",
    request_body = ClaimBody,
    responses((status = 200, description = "What was claimed", body = Leases))
)]
pub(crate) async fn claim(
    State(app): State<App>,
    Body(body): Body<ClaimBody>,
) -> Result<Json<Leases>, Problem> {
    let claim = body.into_claim()?;
    let jobs = app
        .client()
        .lease(&claim.worker, &claim.kinds, claim.queues, claim.max)
        .await?;
    let leases = jobs
        .iter()
        .map(|job| lease(job, app.client().policies()))
        .collect();
    Ok(Json(StatusCode::OK, Leases { leases }))
}

/// Extends a lease by the kind's lease from now, as long as the kind's policy grants an attempt.
#[utoipa::path(
    post,
    path = "/v1/leases/{job}/extend",
    operation_id = "extend_lease",
    tag = "leases",
    params(("job" = String, Path, description = "The job's id")),
    request_body = EpochBody,
    responses(
        (status = 200, description = "It holds", body = Extension),
        (status = 409, description = "stale-epoch: it does not hold any more; or held-by-a-node", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn extend(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(body): Body<EpochBody>,
) -> Result<Json<Extension>, Problem> {
    match app.client().extend(job, Epoch(body.epoch)).await? {
        LeaseExtended::Held {
            until,
            cancel_requested,
        } => Ok(Json(
            StatusCode::OK,
            Extension::new(job, until, cancel_requested),
        )),
        LeaseExtended::Lost => Err(Problem::stale_epoch(job, body.epoch)),
        LeaseExtended::HeldByNode => Err(Problem::held_by_a_node(job)),
    }
}

/// Ends an attempt with a result.
#[utoipa::path(
    post,
    path = "/v1/leases/{job}/succeed",
    operation_id = "report_success",
    tag = "leases",
    params(("job" = String, Path, description = "The job's id")),
    request_body = SucceedBody,
    responses(
        (status = 200, description = "It is on record", body = Reported),
        (status = 409, description = "stale-epoch, or held-by-a-node", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn succeed(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(body): Body<SucceedBody>,
) -> Result<Json<Reported>, Problem> {
    let epoch = body.epoch;
    report(&app, job, epoch, body.into_report()?).await
}

/// Ends an attempt with a failure that is certain.
#[utoipa::path(
    post,
    path = "/v1/leases/{job}/fail",
    operation_id = "report_failure",
    tag = "leases",
    params(("job" = String, Path, description = "The job's id")),
    request_body = FailBody,
    responses(
        (status = 200, description = "It is on record", body = Reported),
        (status = 409, description = "stale-epoch, or held-by-a-node", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn fail(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(body): Body<FailBody>,
) -> Result<Json<Reported>, Problem> {
    let epoch = body.epoch;
    report(&app, job, epoch, body.into_report()?).await
}

/// Ends an attempt of which nobody knows whether its effect happened. The kind's recovery says what follows.
#[utoipa::path(
    post,
    path = "/v1/leases/{job}/unknown",
    operation_id = "report_unknown",
    tag = "leases",
    params(("job" = String, Path, description = "The job's id")),
    request_body = UnknownBody,
    responses(
        (status = 200, description = "It is on record", body = Reported),
        (status = 409, description = "stale-epoch, or held-by-a-node", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn unknown(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(body): Body<UnknownBody>,
) -> Result<Json<Reported>, Problem> {
    let epoch = body.epoch;
    report(&app, job, epoch, body.into_report()).await
}

async fn report(
    app: &App,
    job: JobId,
    epoch: i64,
    report: Report,
) -> Result<Json<Reported>, Problem> {
    let (outcome, state) = match app.client().report(job, Epoch(epoch), report).await? {
        surefoot::Reported::Applied { state } => (ReportOutcome::Applied, state),
        surefoot::Reported::Already { state } => (ReportOutcome::Already, state),
        surefoot::Reported::Stale => return Err(Problem::stale_epoch(job, epoch)),
        surefoot::Reported::HeldByNode => return Err(Problem::held_by_a_node(job)),
        surefoot::Reported::NotFound => return Err(Problem::no_job(job)),
    };
    Ok(Json(StatusCode::OK, Reported::new(job, outcome, state)))
}
