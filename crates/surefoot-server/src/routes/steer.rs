//! What people do to one job by hand: cancel, replay, ignore, edit.

use axum::extract::State;
use axum::http::StatusCode;
use surefoot_core::id::JobId;
use surefoot_core::job::StateName;
use surefoot_core::port::{self, Cancelled};

use crate::auth::Caller;
use crate::extract::{Body, JobPath, OptionalBody};
use crate::problem::{Problem, ProblemDocument};
use crate::state::App;
use crate::wire::{ByBody, EditBody, IgnoreBody, Json, MustReason, ReplayBody, Steered};

/// Withdraws a job: at once when it waits; when it runs, its holder is asked to stop.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/cancel",
    operation_id = "cancel_job",
    tag = "steering",
    params(("id" = String, Path, description = "The job's id")),
    request_body(content = ByBody, description = "May be left out"),
    responses(
        (status = 200, description = "It is cancelled", body = Steered),
        (status = 202, description = "It runs; its holder is told with the next heartbeat", body = Steered),
        (status = 409, description = "wrong-state: it is settled", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    OptionalBody(body): OptionalBody<ByBody>,
) -> Result<Json<Steered>, Problem> {
    let by = body.into_by(&caller, MustReason::No)?;
    match app.client().cancel(id, &by).await? {
        Cancelled::Done => Ok(Json(StatusCode::OK, Steered::to(id, StateName::Cancelled))),
        Cancelled::Requested => Ok(Json(StatusCode::ACCEPTED, Steered::cancel_requested(id))),
        Cancelled::Refused(state) => {
            Err(Problem::wrong_state(id, state, "a job that waits or runs"))
        }
        Cancelled::NotFound => Err(Problem::no_job(id)),
    }
}

/// Makes a dead letter pending again.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/replay",
    operation_id = "replay_job",
    tag = "steering",
    params(("id" = String, Path, description = "The job's id")),
    request_body(content = ReplayBody, description = "May be left out where no effect must be chosen"),
    responses(
        (status = 200, description = "It is pending", body = Steered),
        (status = 409, description = "wrong-state, or effect-choice-required", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn replay(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    OptionalBody(body): OptionalBody<ReplayBody>,
) -> Result<Json<Steered>, Problem> {
    let replay = body.into_replay(&caller)?;
    steered(
        id,
        app.client().replay(id, &replay).await?,
        StateName::Pending,
    )
}

/// Sets a dead letter aside for good.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/ignore",
    operation_id = "ignore_job",
    tag = "steering",
    params(("id" = String, Path, description = "The job's id")),
    request_body(content = IgnoreBody, description = "A reason is needed"),
    responses(
        (status = 200, description = "It is ignored", body = Steered),
        (status = 409, description = "wrong-state", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn ignore(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    Body(body): Body<IgnoreBody>,
) -> Result<Json<Steered>, Problem> {
    let by = body.into_by(&caller)?;
    steered(id, app.client().ignore(id, &by).await?, StateName::Ignored)
}

/// Replaces a dead letter's payload; the earlier one stays on record. It does not replay it.
#[utoipa::path(
    put,
    path = "/v1/jobs/{id}/payload",
    operation_id = "edit_payload",
    tag = "steering",
    params(("id" = String, Path, description = "The job's id")),
    request_body(content = EditBody, description = "A reason is needed"),
    responses(
        (status = 200, description = "The payload is replaced", body = Steered),
        (status = 409, description = "wrong-state", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn edit(
    State(app): State<App>,
    caller: Caller,
    JobPath(id): JobPath,
    Body(body): Body<EditBody>,
) -> Result<Json<Steered>, Problem> {
    let (payload, by) = body.into_parts()?;
    let by = by.into_by(&caller, MustReason::Yes)?;
    steered(
        id,
        app.client().edit(id, &payload, &by).await?,
        StateName::Dead,
    )
}

fn steered(id: JobId, answer: port::Steered, state: StateName) -> Result<Json<Steered>, Problem> {
    match answer {
        port::Steered::Done => Ok(Json(StatusCode::OK, Steered::to(id, state))),
        port::Steered::Refused(state) => Err(Problem::wrong_state(id, state, "a dead letter")),
        port::Steered::NeedsEffectChoice => Err(Problem::effect_choice(id)),
        port::Steered::NotFound => Err(Problem::no_job(id)),
    }
}
