//! What callers see: hand in, look, and for a code of which nobody knows, say whether it came. What was answered with 202 is
//! durable, and a message handed in again is the same one.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use surefoot::core::effect::Witness;
use surefoot::core::id::{Actor, JobId, Key, Kind, Tenant};
use surefoot::core::job::JobState;
use surefoot::core::port::{By, JobRecord, Replay, ReplayEffect, Steered};
use surefoot::{Client, Error, Job, Resolved, Verdict};
use surefoot_server::{Language, StatusFacts, may_have_happened, status_text};

use crate::Fault;
use crate::message::{Class, Message, Sent};

/// The routes.
pub fn routes(client: Client) -> Router {
    Router::new()
        .route("/messages", post(hand_in))
        .route("/messages/{*id}", get(show))
        .route("/arrived/{*id}", post(arrived))
        .with_state(client)
}

async fn hand_in(
    State(client): State<Client>,
    language: Language,
    Json(message): Json<Message>,
) -> Result<Response, Refused> {
    if !is_address(&message.to) {
        // Trying again would not make it one.
        return Err(Refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "to is no address".to_owned(),
        ));
    }
    let job = match client.enqueue_job(&message).await {
        Ok(job) => job,
        Err(Error::Conflict(_)) => {
            let detail = "this id belongs to another message".to_owned();
            return Err(Refused(StatusCode::CONFLICT, detail));
        }
        Err(error) if error.is_transient() => return Err(away(error)),
        Err(error) => return Err(Refused(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())),
    };
    let status = if job.created {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    let shown = shown(&client, job.id, language).await?;
    Ok((status, language.headers(), Json(shown)).into_response())
}

async fn show(
    State(client): State<Client>,
    language: Language,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let job = held_by(&client, &id).await?;
    let shown = shown(&client, job, language).await?;
    Ok((language.headers(), Json(shown)).into_response())
}

async fn shown(
    client: &Client,
    job: JobId,
    language: Language,
) -> Result<serde_json::Value, Refused> {
    let record = client.job(job).await.map_err(away)?.ok_or_else(unknown)?;
    let effects = client.effects(job).await.map_err(away)?;
    let facts = StatusFacts {
        state: &record.job.state,
        starts: record.job.counts.starts,
        may_have_happened: may_have_happened(&record, &effects),
        now: client.now(),
    };
    Ok(json!({
        "id": record.job.key.as_ref().map(Key::as_str),
        "job": job.to_string(),
        "state": record.job.state.name().as_str(),
        "text": status_text(facts, language),
        "question": question(&record, language),
        "sent": sent(&record),
    }))
}

fn sent(record: &JobRecord) -> Option<Sent> {
    match &record.job.state {
        JobState::Succeeded { result, .. } => result.decode().ok(),
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Dead(_)
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => None,
    }
}

/// What to ask the one who waits: they alone can know whether a code came.
fn question(record: &JobRecord, language: Language) -> Option<&'static str> {
    let message: Message = record.job.payload.decode().ok()?;
    let waits =
        matches!(&record.job.state, JobState::Dead(death) if death.reason.needs_effect_choice());
    (waits && message.class == Class::OneTimeCode).then_some(match language {
        Language::English => "Did the code arrive?",
        Language::Vietnamese => "Bạn đã nhận được mã chưa?",
    })
}

#[derive(Deserialize)]
struct Arrived {
    arrived: bool,
}

/// The answer to the question. A code that came is sent; for one that did not come, a new one leaves under a new key: that
/// the first one may still come is what the one who asks for another accepts.
async fn arrived(
    State(client): State<Client>,
    language: Language,
    Path(id): Path<String>,
    Json(Arrived { arrived }): Json<Arrived>,
) -> Result<Response, Refused> {
    let job = held_by(&client, &id).await?;
    let record = client.job(job).await.map_err(away)?.ok_or_else(unknown)?;
    if question(&record, language).is_none() {
        return Err(Refused(StatusCode::CONFLICT, "nobody asks".to_owned()));
    }
    let by = By {
        actor: Actor::new("recipient").map_err(away)?,
        reason: "said whether the code arrived".into(),
    };
    let taken = if arrived {
        came(&client, job, by).await?
    } else {
        let effect = Some(ReplayEffect::New);
        let replay = Replay { effect, by };
        client.replay(job, &replay).await.map_err(away)? == Steered::Done
    };
    if !taken {
        return Err(Refused(
            StatusCode::CONFLICT,
            "it was answered before".to_owned(),
        ));
    }
    let shown = shown(&client, job, language).await?;
    Ok((language.headers(), Json(shown)).into_response())
}

/// The recipient is the witness.
async fn came(client: &Client, job: JobId, by: By) -> Result<bool, Refused> {
    let effects = client.effects(job).await.map_err(away)?;
    let open = effects.iter().find(|effect| effect.is_open());
    let key = open.ok_or_else(unknown)?.key().to_string();
    let sent = Sent {
        provider_message_id: "unknown; its recipient has it".to_owned(),
    };
    let verdict = Verdict::happened(&sent).map_err(away)?;
    let resolved = client.resolve(&key, verdict, Witness::Person(by)).await;
    Ok(matches!(
        resolved.map_err(away)?,
        Resolved::Settled { .. } | Resolved::Same { .. }
    ))
}

/// The job that sends a message.
async fn held_by(client: &Client, id: &str) -> Result<JobId, Refused> {
    let (Ok(kind), Ok(key)) = (Kind::new(Message::KIND), Key::new(id)) else {
        return Err(unknown());
    };
    let found = client.find(&Tenant::single(), &kind, &key).await;
    found.map_err(away)?.ok_or_else(unknown)
}

/// Something, one `@`, and a name of a host: what is plainly no address never becomes a job.
fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split('@').collect();
    matches!(parts.as_slice(), [user, host] if !user.is_empty() && host.contains('.') && !host.starts_with('.'))
        && !text.contains(char::is_whitespace)
}

/// Why a caller is turned away.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(status, detail) = self;
        (status, Json(json!({ "detail": detail }))).into_response()
    }
}

fn unknown() -> Refused {
    Refused(StatusCode::NOT_FOUND, "there is no such message".to_owned())
}

/// The same request may be sent again: a message is handed in once.
fn away(error: impl Into<Fault>) -> Refused {
    eprintln!("mail: {}", error.into());
    Refused(StatusCode::SERVICE_UNAVAILABLE, "try again".to_owned())
}
