//! Requests of the front door: its rules, what is on record about each request, and the word of witnesses who were not asked.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;
use surefoot_http::Resolved;

use crate::auth::Caller;
use crate::extract::{Body, Query, RequestKeyPath};
use crate::problem::{Problem, ProblemDocument};
use crate::state::App;
use crate::wire::{
    Json, RequestPage, RequestPageQuery, RequestRecord, RequestVerdictBody, RequestWitnessed,
    TenantQuery, WitnessedOutcome,
};

/// Requests, the latest first.
#[utoipa::path(
    get,
    path = "/v1/requests",
    operation_id = "list_requests",
    tag = "requests",
    params(RequestPageQuery),
    responses((status = 200, description = "A page of requests", body = RequestPage))
)]
pub(crate) async fn list(
    State(app): State<App>,
    Query(query): Query<RequestPageQuery>,
) -> Result<Json<RequestPage>, Problem> {
    let wanted = query.into_wanted()?;
    let one_more = wanted.limit.saturating_add(1);
    let heads = app
        .requests()
        .requests(&wanted.filter, wanted.before, one_more)
        .await?;
    Ok(Json(StatusCode::OK, RequestPage::new(&heads, wanted.limit)))
}

/// One request by its key, with the answer that every repetition gets.
#[utoipa::path(
    get,
    path = "/v1/requests/{key}",
    operation_id = "show_request",
    tag = "requests",
    params(("key" = String, Path, description = "The key, without quotes"), TenantQuery),
    responses((status = 200, description = "The request", body = RequestRecord))
)]
pub(crate) async fn show(
    State(app): State<App>,
    RequestKeyPath(key): RequestKeyPath,
    Query(query): Query<TenantQuery>,
) -> Result<Json<RequestRecord>, Problem> {
    let identity = query.identity(key)?;
    let found = app.requests().request(&identity).await?;
    found
        .map(|request| Json(StatusCode::OK, RequestRecord::from(&request)))
        .ok_or_else(|| Problem::no_request(&identity))
}

/// How keys are to be used at the front door of this process: which routes take one, how it is written, how long it counts.
/// Times are in seconds; the first route that fits a request counts.
#[utoipa::path(
    get,
    path = "/v1/front-door",
    operation_id = "show_front_door",
    tag = "requests",
    responses(
        (status = 200, description = "The rules that are in force", body = Value),
        (status = 404, description = "not-found: this process has no front door", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn front_door(State(app): State<App>) -> Result<Json<Value>, Problem> {
    let rules = app.front_door().cloned();
    rules
        .map(|rules| Json(StatusCode::OK, rules))
        .ok_or_else(Problem::no_front_door)
}

/// Takes in what somebody says became of a request: a webhook, another program, a person. The first witness settles it: it is
/// answered from then on, or may run. A later, different word is kept as a dispute and raises an alert.
#[utoipa::path(
    post,
    path = "/v1/requests/{key}/resolve",
    operation_id = "resolve_request",
    tag = "requests",
    params(("key" = String, Path, description = "The key, without quotes")),
    request_body = RequestVerdictBody,
    responses(
        (status = 200, description = "What became of the word", body = RequestWitnessed),
        (status = 409, description = "too-early: it may be running, or still take effect", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn resolve(
    State(app): State<App>,
    caller: Caller,
    RequestKeyPath(key): RequestKeyPath,
    Body(body): Body<RequestVerdictBody>,
) -> Result<Json<RequestWitnessed>, Problem> {
    let (identity, verdict, by) = body.into_verdict(key, &caller)?;
    let now = app.client().now();
    let (said, witness) = (verdict.as_str(), by.clone());
    let resolved = surefoot_http::resolve(app.requests(), &identity, verdict, by, now).await?;
    app.metrics().request_resolved(&witness, said, &resolved);
    let (request, outcome) = match resolved {
        Resolved::Settled(request) => (request, WitnessedOutcome::Settled),
        Resolved::Same(request) => (request, WitnessedOutcome::Same),
        Resolved::Disputed(request) => (request, WitnessedOutcome::Disputed),
        Resolved::TooEarly { until } => {
            return Err(Problem::too_early(identity.key.as_str(), until, now));
        }
        // The body has no word for it.
        Resolved::NoVerdict => return Err(Problem::field("verdict", "it says nothing")),
        Resolved::NotFound => return Err(Problem::no_request(&identity)),
    };
    Ok(Json(
        StatusCode::OK,
        RequestWitnessed::new(&request, outcome),
    ))
}
