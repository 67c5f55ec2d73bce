//! One job as a stream of server-sent events: as it is, then each time it changed, until it is settled. A stream that
//! cannot go on ends, and the reader comes back: it never shows a state that is not in the store.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use surefoot::{Changed, Seen};
use surefoot_core::effect::Effect;
use surefoot_core::id::JobId;
use surefoot_core::port::JobRecord;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::extract::JobPath;
use crate::language::Language;
use crate::problem::{Problem, kind};
use crate::serve::Stopping;
use crate::state::App;
use crate::wire::JobDocument;

/// How often a stream says that it is alive while the job does not change.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long one wait for a change lasts.
const WAIT: Duration = Duration::from_secs(60);
/// How long a stream lasts at most; the reader reconnects by itself.
const STREAM_MAX: Duration = Duration::from_secs(60 * 60);

/// One job, at once and each time it changes, until it is settled.
///
/// Each event is called `job` and its data is the job as `GET /v1/jobs/{id}` shows it. Comments keep the stream alive.
/// It ends after a settled state, after an hour, when the database is away, and when the server stops.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/events",
    operation_id = "watch_job",
    tag = "jobs",
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The stream", body = String, content_type = "text/event-stream"),
    )
)]
pub(crate) async fn events(
    State(app): State<App>,
    language: Language,
    JobPath(id): JobPath,
    stopping: Option<Extension<Stopping>>,
) -> Result<Response, Problem> {
    let slot = app.streams().clone().try_acquire_owned().map_err(|_| {
        Problem::new(
            &kind::TOO_MANY_STREAMS,
            "the server has as many event streams open as it is set up for",
        )
    })?;
    let first = app
        .client()
        .job(id)
        .await?
        .ok_or_else(|| Problem::no_job(id))?;
    let stopping = stopping.map_or_else(CancellationToken::new, |Extension(Stopping(token))| token);
    let watch = Watch {
        app,
        language,
        id,
        stopping,
        ends_at: Instant::now() + STREAM_MAX,
        _slot: slot,
    };
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("alive");
    let stream = Sse::new(watch.events(first)).keep_alive(keep_alive);
    Ok((language.headers(), [(CACHE_CONTROL, "no-store")], stream).into_response())
}

/// A stream and its slot.
struct Watch {
    app: App,
    language: Language,
    id: JobId,
    stopping: CancellationToken,
    ends_at: Instant,
    _slot: OwnedSemaphorePermit,
}

impl Watch {
    fn events(self, first: JobRecord) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(Next::Show(self, Box::new(first)), |next| async move {
            let (watch, record) = match next {
                Next::Show(watch, record) => (watch, record),
                Next::Wait(watch, seen) => {
                    let record = watch.change(&seen).await?;
                    (watch, record)
                }
                Next::End => return None,
            };
            let effects = watch.app.effects(&record.job).await.ok()?;
            let event = watch.event(&record, &effects)?;
            let next = if record.job.state.name().is_settled() {
                Next::End
            } else {
                Next::Wait(watch, Seen::from(&*record))
            };
            Some((Ok(event), next))
        })
        .fuse()
    }

    /// The job once it is not as it was seen; `None` when the stream ends.
    async fn change(&self, seen: &Seen) -> Option<Box<JobRecord>> {
        loop {
            let changed = tokio::select! {
                () = self.stopping.cancelled() => return None,
                () = tokio::time::sleep_until(self.ends_at) => return None,
                changed = self.app.client().changed(self.id, Some(seen), WAIT) => changed,
            };
            match changed {
                Ok(Changed::To(record)) => return Some(record),
                Ok(Changed::Same) => {}
                Ok(Changed::NotFound) => return None,
                Err(error) => {
                    tracing::warn!(job = %self.id, error = &error as &dyn std::error::Error, "an event stream ends");
                    return None;
                }
            }
        }
    }

    fn event(&self, record: &JobRecord, effects: &[Effect]) -> Option<Event> {
        let document = JobDocument::new(record, effects, self.app.view(self.language));
        match serde_json::to_string(&document) {
            Ok(json) => Some(Event::default().event("job").data(one_line(json))),
            Err(error) => {
                let _ = Problem::unwritable(&error);
                None
            }
        }
    }
}

/// The JSON on one line. A line break in a payload can only be white space between tokens, for inside a string JSON
/// writes it as an escape; in an event it would end the line.
fn one_line(json: String) -> String {
    if json.contains(['\r', '\n']) {
        json.replace(['\r', '\n'], " ")
    } else {
        json
    }
}

/// What a stream does next.
enum Next {
    Show(Watch, Box<JobRecord>),
    Wait(Watch, Seen),
    End,
}
