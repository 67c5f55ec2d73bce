//! One job as a stream of server-sent events: as it is, then each time it changed, until it is settled. A stream that
//! cannot go on ends, and the reader comes back: it never shows a state that is not in the store.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use surefoot_core::error::StoreError;
use surefoot_core::port::JobRecord;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::extract::JobPath;
use crate::language::Language;
use crate::problem::{Problem, kind};
use crate::serve::Stopping;
use crate::state::App;
use crate::wire::JobDocument;

/// How often a stream says that it is alive while the job does not change.
const HEARTBEAT: Duration = Duration::from_secs(15);
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
    let stop = async move {
        tokio::select! {
            () = stopping.cancelled() => {}
            () = tokio::time::sleep(STREAM_MAX) => {}
        }
    };
    let records = app.client().follow(first, stop);
    let reader = Arc::new(Reader {
        app,
        language,
        _slot: slot,
    });
    let events = records
        .then(move |record| {
            let reader = reader.clone();
            async move { reader.event(record).await }
        })
        .take_while(|event| std::future::ready(event.is_some()))
        .filter_map(|event| std::future::ready(event.map(Ok::<_, Infallible>)));
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("alive");
    let stream = Sse::new(events).keep_alive(keep_alive);
    Ok((language.headers(), [(CACHE_CONTROL, "no-store")], stream).into_response())
}

/// For whom a stream is, and its slot.
struct Reader {
    app: App,
    language: Language,
    _slot: OwnedSemaphorePermit,
}

impl Reader {
    /// The event of a record; `None` where the stream cannot go on.
    async fn event(&self, record: Result<Box<JobRecord>, StoreError>) -> Option<Event> {
        let record = record
            .inspect_err(|error| {
                tracing::warn!(
                    error = error as &dyn std::error::Error,
                    "an event stream ends"
                )
            })
            .ok()?;
        let effects = self.app.effects(&record.job).await.ok()?;
        let document = JobDocument::new(&record, &effects, self.app.view(self.language));
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
