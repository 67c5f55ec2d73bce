//! Dead letters in groups of the same fault.

use axum::extract::State;
use axum::http::StatusCode;
use surefoot_core::port::PAGE_MAX;

use crate::problem::Problem;
use crate::state::App;
use crate::wire::{DeadGroups, Json, dead_groups};

/// Dead letters by kind, reason and error fingerprint, the largest group first.
#[utoipa::path(
    get,
    path = "/v1/dead",
    operation_id = "list_dead",
    tag = "jobs",
    responses((status = 200, description = "The groups", body = DeadGroups))
)]
pub(crate) async fn groups(State(app): State<App>) -> Result<Json<DeadGroups>, Problem> {
    let groups = app.client().dead_groups().await?;
    // The store answers no more than a page, and beyond a full one nobody looked.
    let more = groups.len() >= PAGE_MAX as usize;
    Ok(Json(StatusCode::OK, dead_groups(&groups, more)))
}
