//! Writing down how a run ended. The word of a run is tried until it is on record or clearly too late; a store that is away
//! for longer leaves the outcome unknown, never lost silently.

use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::RequestWritten;
use surefoot_core::request::{End, Finish, Request, finish};
use tokio::time::Instant;

use super::Guard;
use crate::observe::DoorEvent;
use crate::witness::ROUNDS_MAX;

/// How long a word is tried while the store is away, after the client had its answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The longest pause between two tries.
const PAUSE_LONGEST: Duration = Duration::from_secs(2);

/// What became of the word of a run.
#[derive(Debug)]
pub(super) enum Recorded {
    /// It is on record, as this: that is what counts.
    Done(Box<Request>),
    /// Another word stands.
    Stale,
    /// The store did not take it.
    Not(Box<Request>, StoreError),
}

impl Guard {
    /// Writes down how a run ended.
    pub(super) async fn record(&self, mut request: Request, end: End) -> Recorded {
        let epoch = request.epoch;
        for _ in 0..ROUNDS_MAX {
            let (next, disputed) = match finish(&request, epoch, end.clone(), self.0.clock.now()) {
                Finish::Already => return Recorded::Done(Box::new(request)),
                Finish::Stale => return Recorded::Stale,
                Finish::Write(next) => (next, false),
                Finish::Disputed(next) => (next, true),
            };
            match self.0.requests.write(&next).await {
                Ok(RequestWritten::Applied | RequestWritten::Already) if disputed => {
                    let request = next.id;
                    self.0.watching.on(&DoorEvent::Disputed { request });
                    tracing::error!(request = %next.id, "a run says something else than a witness before it");
                    return Recorded::Stale;
                }
                Ok(RequestWritten::Applied | RequestWritten::Already) => {
                    return Recorded::Done(next);
                }
                Ok(RequestWritten::Changed(Some(known))) => request = *known,
                Ok(RequestWritten::Changed(None)) => {
                    tracing::error!(request = %next.id, "the record of a run is gone");
                    return Recorded::Stale;
                }
                Err(error) => return Recorded::Not(Box::new(request), error),
            }
        }
        tracing::error!(request = %request.id, "others kept writing to the record of a run");
        Recorded::Stale
    }

    /// Goes on trying after the client had its answer, for at most a minute.
    pub(super) async fn record_later(&self, request: Request, end: End) {
        let until = Instant::now() + PATIENCE;
        let (mut request, mut pause) = (request, Duration::from_millis(100));
        while Instant::now() < until {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_LONGEST);
            match self.record(request, end.clone()).await {
                Recorded::Done(_) | Recorded::Stale => return,
                Recorded::Not(known, error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        request = %known.id,
                        "the end of a run is not on record yet"
                    );
                    request = *known;
                }
            }
        }
        let id = request.id;
        self.0
            .watching
            .on(&DoorEvent::RecordGivenUp { request: id });
        tracing::error!(request = %id, "the end of a run was not written down; its outcome becomes unknown");
    }
}
