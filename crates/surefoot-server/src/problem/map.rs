//! What becomes which problem: every refusal, every fault, every answer of axum's own. Causes that a caller must not
//! see go to the log here.

use std::any::Any;
use std::error::Error as StdError;

use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use surefoot::Error;
use surefoot_core::error::StoreError;
use surefoot_core::id::{EffectName, JobId, MessageId, NameError, SinkName, Tenant};
use surefoot_core::job::StateName;
use surefoot_core::message::DeliveryStateName;
use surefoot_core::payload::PayloadError;
use surefoot_core::request::Identity;
use surefoot_core::time::Timestamp;

use super::document::Problem;
use super::kind;
use crate::body::BODY_BYTES_MAX;

/// How much of a key that names nothing an answer repeats.
const KEY_SHOWN_MAX: usize = 100;

impl Problem {
    /// A field of the body that is not valid.
    pub(crate) fn field(field: &str, detail: impl Into<String>) -> Self {
        Self::new(&kind::INVALID_FIELD, detail).with_field(field.to_owned())
    }

    /// A name in a field of the body that does not fit its bounds.
    pub(crate) fn name(field: &str, error: &NameError) -> Self {
        Self::field(field, error.to_string())
    }

    /// A parameter of the query that is not valid.
    pub(crate) fn parameter(parameter: &str, detail: impl Into<String>) -> Self {
        Self::new(&kind::INVALID_QUERY, detail).with_field(parameter.to_owned())
    }

    /// A JSON value in a field of the body that is no payload.
    pub(crate) fn payload(field: &str, error: &PayloadError) -> Self {
        match error {
            PayloadError::TooLarge { .. } => {
                Self::new(&kind::BODY_TOO_LARGE, error.to_string()).with_field(field.to_owned())
            }
            PayloadError::NotJson(_)
            | PayloadError::Unserializable(_)
            | PayloadError::Undecodable { .. } => Self::field(field, error.to_string()),
        }
    }

    /// There is no such job.
    pub(crate) fn no_job(job: JobId) -> Self {
        Self::new(&kind::NOT_FOUND, format!("there is no job {job}")).with_job(job)
    }

    /// The key belongs to another payload.
    pub(crate) fn key_conflict(holder: JobId) -> Self {
        let detail =
            format!("the key belongs to job {holder}, which was handed in with another payload");
        Self::new(&kind::KEY_CONFLICT, detail).with_job(holder)
    }

    /// The lease is not held any more.
    pub(crate) fn stale_epoch(job: JobId, epoch: i64) -> Self {
        let detail = format!("job {job} does not run under epoch {epoch} any more");
        Self::new(&kind::STALE_EPOCH, detail).with_job(job)
    }

    /// A node of the engine holds the lease, and its call may be under way.
    pub(crate) fn held_by_a_node(job: JobId) -> Self {
        let detail = format!("job {job} is run by a node of the engine, which reports by itself");
        Self::new(&kind::HELD_BY_A_NODE, detail).with_job(job)
    }

    /// The job's state does not allow it; `needs` says which one would.
    pub(crate) fn wrong_state(job: JobId, state: StateName, needs: &str) -> Self {
        let detail = format!("job {job} is {}; this needs {needs}", state.as_str());
        Self::new(&kind::WRONG_STATE, detail)
            .with_job(job)
            .with_state(state.as_str())
    }

    /// A replay must say whether it is the same effect.
    pub(crate) fn effect_choice(job: JobId) -> Self {
        let detail = format!(
            "nobody knows whether the effect of job {job} happened, and the request has no effect"
        );
        Self::new(&kind::EFFECT_CHOICE_REQUIRED, detail)
            .with_job(job)
            .with_field("effect".to_owned())
    }

    /// The effect was begun under this lease and its answer is missing.
    pub(crate) fn effect_under_way(job: JobId) -> Self {
        let detail =
            format!("job {job} began this effect under this lease, and nobody told its answer");
        Self::new(&kind::EFFECT_UNDER_WAY, detail).with_job(job)
    }

    /// The effect must not be sent.
    pub(crate) fn effect_refused(job: JobId, why: &str) -> Self {
        Self::new(&kind::EFFECT_REFUSED, why).with_job(job)
    }

    /// The job has another effect at that place.
    pub(crate) fn effect_changed(job: JobId, found: &EffectName) -> Self {
        let detail = format!("at this place job {job} has the effect {found}");
        Self::new(&kind::EFFECT_CHANGED, detail).with_job(job)
    }

    /// Nothing is on record at that place.
    pub(crate) fn effect_not_begun(job: JobId, place: u32) -> Self {
        let detail = format!("job {job} has no effect at place {place}");
        Self::new(&kind::EFFECT_NOT_BEGUN, detail).with_job(job)
    }

    /// There is no effect under this provider key.
    pub(crate) fn no_effect(key: &str) -> Self {
        let shown = shown(key);
        Self::new(
            &kind::NOT_FOUND,
            format!("there is no effect under the key {shown:?}"),
        )
    }

    /// This process has no front door.
    pub(crate) fn no_front_door() -> Self {
        Self::new(&kind::NOT_FOUND, "this process has no front door")
    }

    /// No request holds this key of this tenant.
    pub(crate) fn no_request(identity: &Identity) -> Self {
        let Identity { tenant, key } = identity;
        let shown = shown(key.as_str());
        Self::new(
            &kind::NOT_FOUND,
            format!("tenant {tenant} has no request under the key {shown:?}"),
        )
    }

    /// No message has this id within this tenant.
    pub(crate) fn no_message(tenant: &Tenant, id: &MessageId) -> Self {
        let detail = format!("tenant {tenant} has no message {:?}", shown(id.as_str()));
        Self::new(&kind::NOT_FOUND, detail)
    }

    /// The message is there, and no delivery of it to this sink.
    pub(crate) fn no_delivery(id: &MessageId, sink: &SinkName) -> Self {
        let detail = format!("message {:?} has no delivery to {sink}", shown(id.as_str()));
        Self::new(&kind::NOT_FOUND, detail)
    }

    /// The id belongs to another message.
    pub(crate) fn id_conflict(id: &MessageId) -> Self {
        let id = shown(id.as_str());
        let detail = format!("{id:?} was appended with another topic, key or payload");
        Self::new(&kind::ID_CONFLICT, detail).with_field("id".to_owned())
    }

    /// Only a parked delivery can be steered.
    pub(crate) fn not_parked(id: &MessageId, sink: &SinkName, state: DeliveryStateName) -> Self {
        let (id, state) = (shown(id.as_str()), state.as_str());
        let detail = format!("message {id:?} is {state} at {sink}; this needs a parked delivery");
        Self::new(&kind::WRONG_STATE, detail).with_state(state)
    }

    /// A word that proves nothing yet.
    pub(crate) fn too_early(key: &str, until: Timestamp, now: Timestamp) -> Self {
        let seconds = until.since(now).as_secs().saturating_add(1);
        let detail = format!("what was begun under {key} may still take effect for {seconds} s");
        Self::new(&kind::TOO_EARLY, detail).with_retry_after(seconds)
    }

    /// The request took too long.
    pub(crate) fn no_answer_in_time() -> Self {
        Self::new(&kind::NO_ANSWER_IN_TIME, "the request was given up")
    }

    /// An answer that has no JSON form, which is a fault of ours.
    pub(crate) fn unwritable(error: &serde_json::Error) -> Self {
        tracing::error!(
            error = error as &dyn StdError,
            "an answer could not be written as JSON"
        );
        Self::new(&kind::INTERNAL, "the answer could not be written")
    }

    /// The body is JSON but not what the route takes, or no JSON at all.
    pub(crate) fn body(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let fault = error.inner();
        match fault.classify() {
            serde_json::error::Category::Data => {
                let detail = fault.to_string();
                let path = Some(error.path().to_string()).filter(|path| path != ".");
                let field = match (path, missing(&detail)) {
                    (Some(path), Some(name)) => Some(format!("{path}.{name}")),
                    (Some(path), None) => Some(path),
                    (None, name) => name.map(str::to_owned),
                };
                Self::new(&kind::INVALID_FIELD, detail).with_field(field)
            }
            serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof
            | serde_json::error::Category::Io => Self::new(&kind::INVALID_JSON, fault.to_string()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable(_) => {
                tracing::warn!(
                    error = &error as &dyn StdError,
                    "a request failed: the store is unavailable"
                );
                Self::new(&kind::STORE_UNAVAILABLE, "the database did not answer")
            }
            StoreError::Schema { .. } | StoreError::Refused(_) => {
                tracing::error!(
                    error = &error as &dyn StdError,
                    "a request failed: the store refused"
                );
                Self::new(&kind::STORE_REFUSED, "the database refused the statement")
            }
            StoreError::Broken(_) => {
                tracing::error!(
                    error = &error as &dyn StdError,
                    "a request failed: broken invariant"
                );
                Self::new(
                    &kind::INTERNAL,
                    "the database holds what this server never writes",
                )
            }
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            Error::Conflict(holder) => Self::key_conflict(holder),
            Error::Payload(error) => Self::payload("payload", &error),
            Error::Priority(_) => Self::field("priority", error.to_string()),
            Error::DueTooLate | Error::DeadlinePassed => {
                Self::field("deadline_at", error.to_string())
            }
            Error::ReservedWorker(_) => Self::field("worker", error.to_string()),
            Error::Name(_) | Error::TooMany { .. } => {
                Self::new(&kind::INVALID_FIELD, error.to_string())
            }
            Error::Unfinished { job, .. } => {
                Self::new(&kind::WRONG_STATE, error.to_string()).with_job(job)
            }
        }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        let detail = rejection.body_text();
        let parameter = at_fault(&detail).map(str::to_owned);
        Self::new(&kind::INVALID_QUERY, detail).with_field(parameter)
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let detail = format!("the body has more than {BODY_BYTES_MAX} bytes");
            return Self::new(&kind::BODY_TOO_LARGE, detail);
        }
        Self::new(&kind::INVALID_JSON, "the body broke off")
    }
}

/// The beginning of a name that a caller made up.
fn shown(name: &str) -> String {
    name.chars().take(KEY_SHOWN_MAX).collect()
}

/// The field that a text of serde says is missing; the path of such a fault is that of the object around it.
fn missing(detail: &str) -> Option<&str> {
    let (name, _) = detail.strip_prefix("missing field `")?.split_once('`')?;
    Some(name)
}

/// The parameter that the text of a refused query names: between backticks, or before the first colon of its own part.
fn at_fault(detail: &str) -> Option<&str> {
    let (_, fault) = detail.split_once(": ")?;
    let named = fault
        .split_once(" field `")
        .and_then(|(_, rest)| rest.split_once('`'));
    match named {
        Some((name, _)) => Some(name),
        None => fault.split_once(": ").map(|(name, _)| name),
    }
}

/// The fallback of the router.
pub(crate) async fn unknown_route(uri: Uri) -> Problem {
    Problem::new(
        &kind::UNKNOWN_ROUTE,
        format!("there is no route {}", uri.path()),
    )
}

/// The fallback of each route; the router adds the header `Allow`.
pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    Problem::new(
        &kind::METHOD_NOT_ALLOWED,
        format!("{} does not take {method}", uri.path()),
    )
}

/// A panic in a route: logged with what it said, answered without.
pub(crate) fn panicked(cause: Box<dyn Any + Send + 'static>) -> Response {
    let text = cause
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("(no text)"), "a request panicked");
    Problem::new(&kind::INTERNAL, "the request could not be carried out").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_the_store_has_its_problem_and_tells_no_secret() {
        let cause = || "password of postgres://admin:hunter2@db".into();
        let schema = StoreError::Schema {
            found: 9,
            known: 3,
            remedy: "update",
        };
        let table = [
            (StoreError::Unavailable(cause()), &kind::STORE_UNAVAILABLE),
            (StoreError::Refused(cause()), &kind::STORE_REFUSED),
            (schema, &kind::STORE_REFUSED),
            (StoreError::Broken("row 7".to_owned()), &kind::INTERNAL),
        ];
        for (error, expected) in table {
            let problem = Problem::from(error);
            assert_eq!(problem.kind(), expected);
            assert!(!format!("{problem:?}").contains("hunter2"), "{problem:?}");
        }
    }
}
