//! The lease of a run, extended while its handler is at work. It is extended up to the route's longest run and not beyond:
//! after that others are told that the outcome is unknown. Losing it never stops the handler, whose word still counts.

use std::pin::pin;
use std::time::Duration;

use surefoot_core::port::RequestWritten;
use surefoot_core::request::{Identity, Request, RequestId, RequestState, extend};
use surefoot_core::time::Timestamp;
use tokio::time::Instant;

use super::Guard;
use crate::term::Term;

/// A lease is extended when this part of it has passed, so that one beat may fail.
const BEATS_PER_LEASE: u32 = 3;

/// The shortest pause between two beats.
const BEAT_MIN: Duration = Duration::from_millis(1);

pub(super) struct Lease {
    guard: Guard,
    /// As far as it is known here.
    request: Request,
    /// It is not extended beyond this.
    until_max: Timestamp,
    /// From here on others count on it that nothing of this run takes effect any more.
    settles_at: Timestamp,
    /// What is sent looks at it.
    term: Term,
    next: Instant,
    every: Duration,
}

/// What came first.
pub(super) enum Held<T> {
    /// The work ended.
    Ended(T),
    /// The lease did.
    Lost,
}

impl Lease {
    pub(super) fn new(guard: Guard, request: Request, run_max: Duration) -> Self {
        let every = request.clocks.lease / BEATS_PER_LEASE;
        let term = Term::new(guard.0.clock.clone(), lease_until(&request));
        Self {
            term,
            until_max: guard.0.clock.now().after(run_max),
            settles_at: request.settles_at,
            guard,
            request,
            next: Instant::now() + every,
            every,
        }
    }

    pub(super) const fn id(&self) -> RequestId {
        self.request.id
    }

    pub(super) const fn request(&self) -> &Request {
        &self.request
    }

    /// Whether it holds at present. A claim whose answer was late, or was heard by a process that had stood still, may be
    /// over before anything ran.
    pub(super) fn holds(&self) -> bool {
        let now = self.guard.0.clock.now();
        lease_until(&self.request) > now
    }

    /// How long what the run sends may leave.
    pub(super) const fn term(&self) -> &Term {
        &self.term
    }

    /// How long the run may still take effect.
    pub(super) fn left(&self) -> Duration {
        self.settles_at.since(self.guard.0.clock.now())
    }

    pub(super) const fn identity(&self) -> &Identity {
        &self.request.identity
    }

    /// What is on record, as far as it is known.
    pub(super) fn into_request(self) -> Request {
        self.request
    }

    /// Extends the lease until `work` ends, or until it is lost. Work that is dropped then did not end: hand in a reference
    /// to what is to go on.
    pub(super) async fn hold<T>(&mut self, work: impl Future<Output = T>) -> Held<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                ended = &mut work => return Held::Ended(ended),
                () = tokio::time::sleep_until(self.next) => {
                    if !self.beat().await {
                        return Held::Lost;
                    }
                }
            }
        }
    }

    /// One extension; false when the lease is over. A beat whose answer was lost is found on record by the next one.
    async fn beat(&mut self) -> bool {
        self.next = Instant::now() + self.every;
        let now = self.guard.0.clock.now();
        let until = now.after(self.request.clocks.lease).min(self.until_max);
        let Some(next) = extend(&self.request, self.request.epoch, until, now) else {
            return false;
        };
        if self.until_max <= now {
            return false;
        }
        match self.guard.0.requests.write_once(&next).await {
            Ok(RequestWritten::Applied | RequestWritten::Already) => {
                self.settles_at = next.settles_at;
                self.term.extend(lease_until(&next));
                self.request = next;
                // The last beat is the end of the lease, for others know better from there on.
                let left = lease_until(&self.request).since(now);
                self.next = Instant::now() + self.every.min(left + BEAT_MIN);
            }
            Ok(RequestWritten::Changed(Some(known))) => {
                let ours = known.epoch == self.request.epoch
                    && matches!(known.state, RequestState::Claimed { .. });
                self.request = *known;
                // One that is somebody else's is over.
                self.term.extend(if ours {
                    lease_until(&self.request)
                } else {
                    Timestamp::from_micros(i64::MIN)
                });
                return ours;
            }
            Ok(RequestWritten::Changed(None)) => return false,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    request = %self.request.id,
                    "a lease could not be extended"
                );
            }
        }
        true
    }
}

/// When the lease ends; where there is none, it ended long ago.
fn lease_until(request: &Request) -> Timestamp {
    match request.state {
        RequestState::Claimed { lease_until, .. } => lease_until,
        RequestState::Finished { .. }
        | RequestState::Unknown { .. }
        | RequestState::NeedsHuman { .. }
        | RequestState::Released { .. }
        | RequestState::Expired { .. } => Timestamp::from_micros(i64::MIN),
    }
}
