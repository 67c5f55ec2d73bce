//! What a route takes from a request, with every refusal as a problem. Nothing is read without a limit.

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Path, Query as AxumQuery, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use serde::de::{DeserializeOwned, IgnoredAny};
use surefoot_core::id::{JobId, MessageId, Queue, SinkName};
use surefoot_core::job::TraceContext;
use surefoot_core::request::RequestKey;

use crate::problem::{Problem, kind};

/// A JSON body. A field that the route does not know is refused, so that no typing error is lost.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        check_media_type(request.headers())?;
        Ok(Self(parse(&Bytes::from_request(request, state).await?)?))
    }
}

/// A JSON body that may be left out.
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if request.body().is_end_stream() {
            return Ok(Self(T::default()));
        }
        Body::from_request(request, state)
            .await
            .map(|Body(body)| Self(body))
    }
}

/// `application/json`, or another type whose suffix is `+json`, with any parameters.
fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |detail: String| Problem::new(&kind::UNSUPPORTED_MEDIA_TYPE, detail);
    let given = headers
        .get(CONTENT_TYPE)
        .ok_or_else(|| refused("the request names no Content-Type".to_owned()))?;
    let essence = given
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    let essence = essence.to_ascii_lowercase();
    if essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return Ok(());
    }
    Err(refused(format!("the Content-Type is {given:?}")))
}

/// One JSON object. What is derived for a struct would take its fields from an array as well, by their order.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if let Some(other) = not_an_object(bytes) {
        serde_json::from_slice::<IgnoredAny>(bytes)
            .map_err(|error| Problem::new(&kind::INVALID_JSON, error.to_string()))?;
        let detail = format!("the body is {other}, give an object");
        return Err(Problem::new(&kind::INVALID_FIELD, detail));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| Problem::body(&error))?;
    deserializer
        .end()
        .map_err(|error| Problem::new(&kind::INVALID_JSON, error.to_string()))?;
    Ok(value)
}

/// What a JSON text is by its first byte, unless it is an object.
fn not_an_object(bytes: &[u8]) -> Option<&'static str> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace())? {
        b'{' => None,
        b'[' => Some("an array"),
        b'"' => Some("a string"),
        b'n' => Some("null"),
        b't' | b'f' => Some("a truth value"),
        _ => Some("a number"),
    }
}

/// The job of `/{id}` or `/{job}` in the path. A text that is no id names no job.
pub(crate) struct JobPath(pub(crate) JobId);

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let no_job = |detail: String| Problem::new(&kind::NOT_FOUND, detail);
        let Path(text) = path(parts, state).await?;
        text.parse()
            .map(Self)
            .map_err(|error| no_job(format!("{text:?} is {error}")))
    }
}

/// The job and the place of `/{job}/effects/{place}` in the path.
pub(crate) struct EffectPath {
    pub(crate) job: JobId,
    pub(crate) place: u32,
}

impl<S: Send + Sync> FromRequestParts<S> for EffectPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let none = |detail: String| Problem::new(&kind::NOT_FOUND, detail);
        let Path((job, place)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| none("the path is not UTF-8".to_owned()))?;
        Ok(Self {
            job: job
                .parse()
                .map_err(|error| none(format!("{job:?} is {error}")))?,
            place: place
                .parse()
                .map_err(|_| none(format!("{place:?} is no place: give its number")))?,
        })
    }
}

/// The provider key of `/{key}` in the path. A text that is no key of ours names no effect.
pub(crate) struct ProviderKeyPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for ProviderKeyPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = path(parts, state).await?;
        Ok(Self(text))
    }
}

/// The key of a request, `/{key}` in the path; a `/` in it travels as `%2F`. What is no key names no request.
pub(crate) struct RequestKeyPath(pub(crate) RequestKey);

impl<S: Send + Sync> FromRequestParts<S> for RequestKeyPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = path(parts, state).await?;
        RequestKey::new(text)
            .map(Self)
            .map_err(|error| Problem::new(&kind::NOT_FOUND, error.to_string()))
    }
}

/// The id of a message, `/{id}` in the path; a `/` in it travels as `%2F`. What is no id names no message.
pub(crate) struct MessagePath(pub(crate) MessageId);

impl<S: Send + Sync> FromRequestParts<S> for MessagePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = path(parts, state).await?;
        MessageId::new(text)
            .map(Self)
            .map_err(|error| Problem::new(&kind::NOT_FOUND, error.to_string()))
    }
}

/// The message and the sink of `/{id}/deliveries/{sink}` in the path; a `/` in either travels as `%2F`.
pub(crate) struct DeliveryPath {
    pub(crate) message: MessageId,
    pub(crate) sink: SinkName,
}

impl<S: Send + Sync> FromRequestParts<S> for DeliveryPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let none = |detail: String| Problem::new(&kind::NOT_FOUND, detail);
        let Path((message, sink)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| none("the path is not UTF-8".to_owned()))?;
        Ok(Self {
            message: MessageId::new(message).map_err(|error| none(error.to_string()))?,
            sink: SinkName::new(sink).map_err(|error| none(error.to_string()))?,
        })
    }
}

/// The queue of `/{queue}` in the path; a `/` in its name travels as `%2F`.
pub(crate) struct QueuePath(pub(crate) Queue);

impl<S: Send + Sync> FromRequestParts<S> for QueuePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = path(parts, state).await?;
        Queue::new(text)
            .map(Self)
            .map_err(|error| Problem::new(&kind::NOT_FOUND, error.to_string()))
    }
}

async fn path<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Path<String>, Problem> {
    let unreadable = |_| Problem::new(&kind::NOT_FOUND, "the path is not UTF-8");
    Path::from_request_parts(parts, state)
        .await
        .map_err(unreadable)
}

/// The query.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let AxumQuery(query) = AxumQuery::from_request_parts(parts, state).await?;
        Ok(Self(query))
    }
}

/// The layer of the routes that know no parameter: each is refused by name, so that no typing error is lost.
pub(crate) async fn no_query(request: Request, next: Next) -> Result<Response, Problem> {
    let AxumQuery(given) = AxumQuery::<Vec<(String, String)>>::try_from_uri(request.uri())?;
    match given.first() {
        None => Ok(next.run(request).await),
        Some((name, _)) => {
            let detail = format!("unknown parameter {name:?}, this route knows none");
            Err(Problem::parameter(name, detail))
        }
    }
}

/// The caller's trace context by the header `traceparent`; a broken one counts for nothing.
pub(crate) struct Trace(pub(crate) Option<TraceContext>);

impl<S: Send + Sync> FromRequestParts<S> for Trace {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        _state: &S,
    ) -> Result<Self, std::convert::Infallible> {
        let header = parts
            .headers
            .get("traceparent")
            .and_then(|value| value.to_str().ok());
        Ok(Self(header.and_then(TraceContext::parse)))
    }
}
