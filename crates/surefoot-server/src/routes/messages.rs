//! Messages of the outbox: appending one, what became of it at each sink, what waits for a person, and what a person orders.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::DeliveryStateName;
use surefoot_core::port::{self, By, DeliveryId, DeliveryVerb};

use crate::auth::Caller;
use crate::extract::{Body, DeliveryPath, MessagePath, OptionalBody, Query, Trace};
use crate::problem::{Problem, ProblemDocument};
use crate::state::App;
use crate::wire::{
    AgainBody, AppendBody, AppendOutcome, Appended, DeliveryPage, DeliveryPageQuery,
    DeliverySteered, Json, MessageDocument, MessageQuery, SinkList, SkipBody, location, sink_list,
};

/// Appends a message, with a delivery to each sink that wants its topic. What was answered is durable; a relay delivers it.
/// Repeated under its id it is the same message.
#[utoipa::path(
    post,
    path = "/v1/messages",
    operation_id = "append_message",
    tag = "messages",
    params(("traceparent" = Option<String>, Header, description = "W3C trace context, kept with the message")),
    request_body = AppendBody,
    responses(
        (status = 202, description = "It was written down", body = Appended,
            headers(("Location" = String, description = "Where the message is"))),
        (status = 200, description = "It had been written already", body = Appended,
            headers(("Location" = String, description = "Where the message is"))),
        (status = 409, description = "id-conflict: the id belongs to another message", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn append(
    State(app): State<App>,
    Trace(trace): Trace,
    Body(body): Body<AppendBody>,
) -> Result<Response, Problem> {
    let message = body.into_message(trace, app.client().now())?;
    let appended = app
        .messages()
        .append(std::slice::from_ref(&message))
        .await?;
    let none = || StoreError::Broken("an append answered nothing".to_owned());
    let appended = appended.first().copied().ok_or_else(none)?;
    app.metrics().message_appended(appended);
    let (status, outcome) = match appended {
        port::Appended::Written(_) => (StatusCode::ACCEPTED, AppendOutcome::Written),
        port::Appended::Already(_) => (StatusCode::OK, AppendOutcome::Already),
        port::Appended::Conflict(_) => return Err(Problem::id_conflict(&message.id)),
    };
    app.wake_relay();
    let answer = Appended::new(outcome, &message, appended.number());
    let location = [(LOCATION, location(&message))];
    Ok((location, Json(status, answer)).into_response())
}

/// One message with its deliveries by sink, and what people ordered.
#[utoipa::path(
    get,
    path = "/v1/messages/{id}",
    operation_id = "show_message",
    tag = "messages",
    params(("id" = String, Path, description = "The message's id; `/` as `%2F`"), MessageQuery),
    responses((status = 200, description = "The message", body = MessageDocument))
)]
pub(crate) async fn show(
    State(app): State<App>,
    MessagePath(id): MessagePath,
    Query(query): Query<MessageQuery>,
) -> Result<Json<MessageDocument>, Problem> {
    let tenant = query.tenant()?;
    let found = app.messages().message(&tenant, &id).await?;
    found
        .map(|record| Json(StatusCode::OK, MessageDocument::from(&record)))
        .ok_or_else(|| Problem::no_message(&tenant, &id))
}

/// Deliveries that wait for a person, in the order in which their messages arrived.
#[utoipa::path(
    get,
    path = "/v1/deliveries",
    operation_id = "list_deliveries",
    tag = "messages",
    params(DeliveryPageQuery),
    responses((status = 200, description = "A page of parked deliveries", body = DeliveryPage))
)]
pub(crate) async fn deliveries(
    State(app): State<App>,
    Query(query): Query<DeliveryPageQuery>,
) -> Result<Json<DeliveryPage>, Problem> {
    let wanted = query.into_wanted()?;
    let one_more = wanted.limit.saturating_add(1);
    let parked = app
        .messages()
        .parked(wanted.sink.as_ref(), wanted.after.as_ref(), one_more)
        .await?;
    let page = DeliveryPage::new(&parked, wanted.limit);
    Ok(Json(StatusCode::OK, page))
}

/// Tries a parked delivery again, with its counts at zero; those behind it under its key follow when it has ended.
#[utoipa::path(
    post,
    path = "/v1/messages/{id}/deliveries/{sink}/again",
    operation_id = "deliver_again",
    tag = "messages",
    params(
        ("id" = String, Path, description = "The message's id; `/` as `%2F`"),
        ("sink" = String, Path, description = "The sink's name; `/` as `%2F`"),
    ),
    request_body(content = AgainBody, description = "May be left out"),
    responses(
        (status = 200, description = "It waits for its next try", body = DeliverySteered),
        (status = 409, description = "wrong-state: it is not parked", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn again(
    State(app): State<App>,
    caller: Caller,
    path: DeliveryPath,
    OptionalBody(body): OptionalBody<AgainBody>,
) -> Result<Json<DeliverySteered>, Problem> {
    let (tenant, by) = body.into_order(&caller)?;
    steer(&app, &tenant, &path, DeliveryVerb::Again, &by).await
}

/// Ends a parked delivery undelivered: this sink does not get the message, and those behind it under its key go on.
#[utoipa::path(
    post,
    path = "/v1/messages/{id}/deliveries/{sink}/skip",
    operation_id = "skip_delivery",
    tag = "messages",
    params(
        ("id" = String, Path, description = "The message's id; `/` as `%2F`"),
        ("sink" = String, Path, description = "The sink's name; `/` as `%2F`"),
    ),
    request_body(content = SkipBody, description = "A reason is needed"),
    responses(
        (status = 200, description = "It is skipped", body = DeliverySteered),
        (status = 409, description = "wrong-state: it is not parked", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn skip(
    State(app): State<App>,
    caller: Caller,
    path: DeliveryPath,
    Body(body): Body<SkipBody>,
) -> Result<Json<DeliverySteered>, Problem> {
    let (tenant, by) = body.into_order(&caller)?;
    steer(&app, &tenant, &path, DeliveryVerb::Skip, &by).await
}

/// How much is open for each sink, and how long.
#[utoipa::path(
    get,
    path = "/v1/sinks",
    operation_id = "list_sinks",
    tag = "messages",
    responses((status = 200, description = "The sinks, by name", body = SinkList))
)]
pub(crate) async fn sinks(State(app): State<App>) -> Result<Json<SinkList>, Problem> {
    let depths = app.messages().message_depth().await?;
    Ok(Json(StatusCode::OK, sink_list(&depths)))
}

async fn steer(
    app: &App,
    tenant: &Tenant,
    path: &DeliveryPath,
    verb: DeliveryVerb,
    by: &By,
) -> Result<Json<DeliverySteered>, Problem> {
    let (id, sink): (&MessageId, &SinkName) = (&path.message, &path.sink);
    let messages = app.messages();
    let found = messages.message(tenant, id).await?;
    let record = found.ok_or_else(|| Problem::no_message(tenant, id))?;
    let delivery = DeliveryId {
        number: record.number,
        sink: sink.clone(),
    };
    let now = app.client().now();
    let (answer, state) = match verb {
        DeliveryVerb::Again => (
            messages.again(&delivery, by, now).await?,
            DeliveryStateName::Waiting,
        ),
        DeliveryVerb::Skip => (
            messages.skip(&delivery, by, now).await?,
            DeliveryStateName::Skipped,
        ),
    };
    match answer {
        port::DeliverySteered::Done => {
            app.metrics().delivery_steered(sink, verb);
            app.wake_relay();
            let steered = DeliverySteered::to(tenant, id, sink, state);
            Ok(Json(StatusCode::OK, steered))
        }
        port::DeliverySteered::Refused(state) => Err(Problem::not_parked(id, sink, state)),
        port::DeliverySteered::NotFound => Err(Problem::no_delivery(id, sink)),
    }
}
