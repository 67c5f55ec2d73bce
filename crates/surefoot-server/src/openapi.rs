//! The OpenAPI 3.1 document. Routes and document come from the same list in [`crate::router`], so neither can miss
//! what the other has; here stands what is the same for all of them.

use std::sync::Arc;

use axum::Extension;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, tag::TagBuilder};
use utoipa::openapi::{
    ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, ResponseBuilder,
};
use utoipa::openapi::{RefOr, Required};

use crate::problem;

/// The name of the security scheme.
const TOKEN: &str = "token";

/// The routes whose body may be left out. A body that is sent is an object all the same, never `null`.
const BODY_OPTIONAL: [&str; 5] = [
    "/v1/jobs/{id}/cancel",
    "/v1/jobs/{id}/replay",
    "/v1/messages/{id}/deliveries/{sink}/again",
    "/v1/queues/{queue}/pause",
    "/v1/queues/{queue}/resume",
];

/// The document before any route.
pub(crate) fn base() -> OpenApi {
    let about = "Every side effect happens once, even when everything fails.\n\nTimes are RFC 3339 in UTC, durations \
                 are integers of milliseconds and end with `_ms`. A field that a request does not know is refused. \
                 Every error is a problem document of RFC 9457 whose `type` a program can branch on; the server \
                 explains each type at its own URI.";
    let info = InfoBuilder::new()
        .title("Surefoot")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(about))
        .license(Some(
            LicenseBuilder::new()
                .name("MIT OR Apache-2.0")
                .identifier(Some("MIT OR Apache-2.0"))
                .build(),
        ))
        .build();
    let token = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let tags = [
        ("jobs", "Handing jobs in and looking at them"),
        ("steering", "What people do to one job by hand"),
        ("leases", "Pull workers: claim, extend, report"),
        (
            "effects",
            "What jobs did outside, and the word of witnesses",
        ),
        (
            "requests",
            "Requests of the front door, and the word of witnesses",
        ),
        (
            "messages",
            "The outbox: what is delivered where, and what waits for a person",
        ),
        ("queues", "What waits in each queue; pause and resume"),
        (
            "dependencies",
            "The services that this process calls, and their breakers",
        ),
        ("server", "About this process"),
    ];
    OpenApiBuilder::new()
        .info(info)
        .components(Some(
            ComponentsBuilder::new()
                .security_scheme(TOKEN, token)
                .build(),
        ))
        .security(Some([
            SecurityRequirement::new::<_, [&str; 0], &str>(TOKEN, []),
            SecurityRequirement::default(),
        ]))
        .tags(Some(tags.map(|(name, about)| {
            TagBuilder::new()
                .name(name)
                .description(Some(about))
                .build()
        })))
        .build()
}

/// The document with what every route may answer.
pub(crate) fn finish(mut document: OpenApi) -> OpenApi {
    for (path, item) in &mut document.paths.paths {
        let takes_token = path.starts_with("/v1/") || path == "/metrics";
        for operation in operations(item) {
            let mut always = vec![("500", "internal, or store-refused")];
            if takes_token {
                always.push((
                    "401",
                    "unauthorized: tokens are configured and the request has none of them",
                ));
                always.push(("403", "host-not-allowed, or cross-origin"));
                always.push((
                    "503",
                    "store-unavailable, or no-answer-in-time: it is not known whether it was done",
                ));
            }
            if path == "/openapi.json" {
                always.push(("403", "host-not-allowed"));
            }
            if path.contains('{') {
                always.push(("404", "not-found"));
            }
            if let Some(body) = &mut operation.request_body {
                let may_be_left_out = BODY_OPTIONAL.contains(&path.as_str());
                if let RefOr::T(body) = body
                    && may_be_left_out
                {
                    body.required = Some(Required::False);
                }
                always.push(("400", "invalid-json"));
                always.push(("408", "request-timeout"));
                always.push(("413", "body-too-large"));
                always.push(("415", "unsupported-media-type"));
                always.push(("422", "invalid-field, or invalid-query"));
            } else {
                always.push(("422", "invalid-query"));
            }
            for (status, about) in always {
                let responses = &mut operation.responses.responses;
                responses
                    .entry(status.to_owned())
                    .or_insert_with(|| problem_response(about).into());
            }
        }
    }
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
    ]
    .into_iter()
    .flatten()
}

fn problem_response(about: &str) -> utoipa::openapi::Response {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Problem")))
        .build();
    ResponseBuilder::new()
        .description(about)
        .content(problem::CONTENT_TYPE, content)
        .build()
}

/// The document as it is served.
#[derive(Clone)]
pub(crate) struct Document(pub(crate) Arc<str>);

/// This document.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "server",
    responses((status = 200, description = "The OpenAPI 3.1 document", body = serde_json::Value)),
    security(())
)]
pub(crate) async fn openapi(Extension(Document(text)): Extension<Document>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], format!("{text}\n"))
}
