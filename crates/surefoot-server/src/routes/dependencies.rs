//! The services that this process calls: what protects their calls, and a person's word to a breaker. The state is that of
//! one process; steer each node by itself.

use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::auth::Caller;
use crate::dependency::BreakerOrder;
use crate::extract::Body;
use crate::problem::{Problem, kind};
use crate::state::App;
use crate::wire::{
    BreakerBody, DependencyList, DependencyRecord, Json, MustReason, dependency_list,
};

/// The services that this process calls, with the live state of what protects their calls.
#[utoipa::path(
    get,
    path = "/v1/dependencies",
    operation_id = "list_dependencies",
    tag = "dependencies",
    responses((status = 200, description = "The services, by name", body = DependencyList))
)]
pub(crate) async fn list(State(app): State<App>) -> Json<DependencyList> {
    Json(StatusCode::OK, dependency_list(app.dependencies().all()))
}

/// Steers the breaker of a service, in this process. Calls that are out go on.
#[utoipa::path(
    post,
    path = "/v1/dependencies/{name}/breaker",
    operation_id = "steer_breaker",
    tag = "dependencies",
    params(("name" = String, Path, description = "The service's name; `/` as `%2F`")),
    request_body = BreakerBody,
    responses((status = 200, description = "What it looks like then", body = DependencyRecord))
)]
pub(crate) async fn steer(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Body(body): Body<BreakerBody>,
) -> Result<Json<DependencyRecord>, Problem> {
    let order = BreakerOrder::from(body.state);
    let by = body.into_by_body().into_by(&caller, MustReason::Yes)?;
    let now = app.client().now();
    let Some(view) = app.dependencies().steer(&name, order, &by, now) else {
        let shown: String = name.chars().take(NAME_SHOWN_MAX).collect();
        return Err(Problem::new(
            &kind::NOT_FOUND,
            format!("there is no dependency {shown:?}"),
        ));
    };
    tracing::warn!(
        dependency = name,
        actor = %by.actor,
        reason = %by.reason,
        ?order,
        state = view.breaker.state,
        "a breaker was steered"
    );
    Ok(Json(StatusCode::OK, view.into()))
}

/// How much of a name that names nothing an answer repeats.
const NAME_SHOWN_MAX: usize = 128;
