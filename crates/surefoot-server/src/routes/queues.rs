//! Queues: what waits, pause, resume.

use axum::extract::State;
use axum::http::StatusCode;

use crate::auth::Caller;
use crate::extract::{OptionalBody, QueuePath};
use crate::problem::Problem;
use crate::state::App;
use crate::wire::{ByBody, Json, MustReason, QueueList, Resumed, queue_list};

/// The queues that have jobs or are paused.
#[utoipa::path(
    get,
    path = "/v1/queues",
    operation_id = "list_queues",
    tag = "queues",
    responses((status = 200, description = "The queues, by name", body = QueueList))
)]
pub(crate) async fn list(State(app): State<App>) -> Result<Json<QueueList>, Problem> {
    let depth = app.client().depth().await?;
    let pauses = app.client().pauses().await?;
    Ok(Json(StatusCode::OK, queue_list(&depth, &pauses)))
}

/// Stops claims from a queue, on all nodes. What runs goes on. Pausing a paused queue keeps the first pause.
#[utoipa::path(
    post,
    path = "/v1/queues/{queue}/pause",
    operation_id = "pause_queue",
    tag = "queues",
    params(("queue" = String, Path, description = "The queue's name; `/` as `%2F`")),
    request_body(content = ByBody, description = "May be left out"),
    responses((status = 204, description = "It is paused"))
)]
pub(crate) async fn pause(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    OptionalBody(body): OptionalBody<ByBody>,
) -> Result<StatusCode, Problem> {
    let by = body.into_by(&caller, MustReason::No)?;
    app.client().pause(&queue, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lets claims from a queue go on.
#[utoipa::path(
    post,
    path = "/v1/queues/{queue}/resume",
    operation_id = "resume_queue",
    tag = "queues",
    params(("queue" = String, Path, description = "The queue's name; `/` as `%2F`")),
    request_body(content = ByBody, description = "May be left out"),
    responses((status = 200, description = "It is not paused", body = Resumed))
)]
pub(crate) async fn resume(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    OptionalBody(body): OptionalBody<ByBody>,
) -> Result<Json<Resumed>, Problem> {
    let by = body.into_by(&caller, MustReason::No)?;
    let was_paused = app.client().resume(&queue).await?;
    tracing::info!(%queue, actor = %by.actor, reason = %by.reason, was_paused, "a queue was resumed");
    Ok(Json(StatusCode::OK, Resumed { was_paused }))
}
