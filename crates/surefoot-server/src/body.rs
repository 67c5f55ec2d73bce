//! Takes the whole body of a request in before the request gets one of the slots for work, so that a body that
//! arrives slowly or never holds up nobody but its sender. It never holds more bytes than the server has room for.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Problem, kind};
use crate::router::REQUESTS_MAX;
use surefoot_core::payload::PAYLOAD_BYTES_MAX;

/// The most bytes of a body: a payload at its largest and room for the other fields.
pub(crate) const BODY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 64 * 1024;
/// The most bytes of all bodies together: of as many as are worked on at once, each at its largest.
const ROOM_BYTES: usize = REQUESTS_MAX * BODY_BYTES_MAX;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// The room for bodies, in bytes that have arrived: what a sender only announces takes none.
#[derive(Clone)]
pub(crate) struct Room(Arc<Semaphore>);

impl Room {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_BYTES)))
    }
}

/// The layer before the slots. A request that only reads has no use for a body, so none is waited for.
pub(crate) async fn receive(
    State(room): State<Room>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.method().is_safe() || request.body().is_end_stream() {
        return Ok(next.run(request).await);
    }
    let (parts, body) = request.into_parts();
    let late = |_| {
        Problem::new(
            &kind::REQUEST_TIMEOUT,
            "the body did not arrive within 20 seconds",
        )
    };
    let received = tokio::time::timeout(BODY_TIMEOUT, read(body, &room));
    let (bytes, _taken) = received.await.map_err(late)??;
    Ok(next
        .run(Request::from_parts(parts, Body::from(bytes)))
        .await)
}

/// The body, and the room that it takes for as long as it is needed.
async fn read(body: Body, room: &Room) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Problem> {
    let too_large = || {
        let detail = format!("the body has more than {BODY_BYTES_MAX} bytes");
        Problem::new(&kind::BODY_TOO_LARGE, detail)
    };
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    let mut frames = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut taken: Option<OwnedSemaphorePermit> = None;
    while let Some(frame) = frames.next().await {
        let frame = frame.map_err(|_| Problem::new(&kind::INVALID_JSON, "the body broke off"))?;
        if bytes.len() + frame.len() > BODY_BYTES_MAX {
            return Err(too_large());
        }
        let more = u32::try_from(frame.len()).map_err(|_| too_large())?;
        let permit = room.0.clone().acquire_many_owned(more).await;
        let permit = permit.map_err(|_| Problem::no_answer_in_time())?;
        match &mut taken {
            Some(taken) => taken.merge(permit),
            None => taken = Some(permit),
        }
        bytes.extend_from_slice(&frame);
    }
    Ok((bytes.into(), taken))
}
