//! How a run ends: by its handler's word, or by a lease that ended without one. Each takes the epoch under which the run
//! was claimed; a word under an earlier one never changes what is known, and where it contradicts it is kept as a dispute.

use super::{Kept, Request, RequestState};
use crate::effect::Witness;
use crate::id::Epoch;
use crate::text::ErrorText;
use crate::time::Timestamp;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With this answer.
    Answered(Kept),
    /// Nothing happened, says the handler: the same request may run.
    NothingHappened(ErrorText),
    /// It broke off, and may have happened.
    Unknown(ErrorText),
}

impl End {
    /// Every word of [`End::as_str`].
    pub const WORDS: [&'static str; 3] = ["answered", "nothing_happened", "unknown"];

    /// The word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::NothingHappened(_) => "nothing_happened",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// What follows from the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Write this down.
    Write(Box<Request>),
    /// It is on record already.
    Already,
    /// The run is not the latest one, or somebody else's word stands. Nothing is to be written.
    Stale,
    /// Write this down: the run says something else than a witness before it, and a person is alerted.
    Disputed(Box<Request>),
}

/// The request after the run under `epoch` ended. A holder whose lease is over still knows what it did: while nobody else
/// has said so, its word counts.
#[must_use]
pub fn finish(request: &Request, epoch: Epoch, end: End, now: Timestamp) -> Finish {
    if request.epoch != epoch {
        return superseded(request, end, now);
    }
    match (&request.state, end) {
        (
            RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. },
            End::Answered(kept),
        ) => Finish::Write(Box::new(request.finished(kept, Witness::Answer, now))),
        (
            RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. },
            End::NothingHappened(error),
        ) => Finish::Write(Box::new(request.released(error, Witness::Answer, now))),
        (RequestState::Claimed { .. }, End::Unknown(error)) => {
            Finish::Write(Box::new(request.broke_off(error, now)))
        }
        (RequestState::Unknown { .. } | RequestState::NeedsHuman { .. }, End::Unknown(_)) => {
            Finish::Already
        }
        (RequestState::Finished { kept: known, .. }, End::Answered(kept)) if *known == kept => {
            Finish::Already
        }
        (RequestState::Released { .. }, End::NothingHappened(_)) => Finish::Already,
        (RequestState::Released { .. }, End::Answered(kept)) => {
            let said = format!("its handler answered {}", kept.status());
            Finish::Disputed(Box::new(request.disputed_release(
                &said,
                Witness::Answer,
                now,
            )))
        }
        (
            RequestState::Finished { .. } | RequestState::Expired { .. },
            End::NothingHappened(error),
        ) => Finish::Disputed(Box::new(request.disputed(
            error.as_str(),
            Witness::Answer,
            now,
        ))),
        (
            RequestState::Finished { .. }
            | RequestState::Expired { .. }
            | RequestState::Released { .. },
            End::Answered(_) | End::Unknown(_),
        ) => Finish::Stale,
    }
}

/// The word of a run after which another one was claimed: somebody had said that nothing happened.
fn superseded(request: &Request, end: End, now: Timestamp) -> Finish {
    match end {
        End::Answered(kept) if kept.status() < 400 => {
            let said = format!(
                "an earlier run answered {} after it was released",
                kept.status()
            );
            Finish::Disputed(Box::new(request.disputed(&said, Witness::Answer, now)))
        }
        End::Answered(_) | End::NothingHappened(_) | End::Unknown(_) => Finish::Stale,
    }
}

/// The request with a longer lease; `None` when the run under `epoch` does not hold it any more, or it ended before `now`.
/// A lease is never shortened.
#[must_use]
pub fn extend(
    request: &Request,
    epoch: Epoch,
    until: Timestamp,
    now: Timestamp,
) -> Option<Request> {
    match &request.state {
        RequestState::Claimed {
            claim,
            holder,
            since,
            lease_until,
        } if request.epoch == epoch && *lease_until > now => {
            let lease_until = until.max(*lease_until);
            let state = RequestState::Claimed {
                claim: *claim,
                holder: holder.clone(),
                since: *since,
                lease_until,
            };
            Some(Request {
                settles_at: lease_until.after(request.clocks.settles_within),
                ..request.next(state)
            })
        }
        RequestState::Claimed { .. }
        | RequestState::Finished { .. }
        | RequestState::Unknown { .. }
        | RequestState::NeedsHuman { .. }
        | RequestState::Released { .. }
        | RequestState::Expired { .. } => None,
    }
}

/// The request whose lease ended without a word of its holder: its outcome is unknown. `None` where no lease ended.
#[must_use]
pub fn lapse(request: &Request, now: Timestamp) -> Option<Request> {
    match &request.state {
        RequestState::Claimed {
            holder,
            lease_until,
            ..
        } if *lease_until <= now => {
            let state = RequestState::Unknown {
                since: *lease_until,
                ask_at: *lease_until,
                asked: 0,
                error: format!("{holder} did not say what became of it before its lease ended")
                    .into(),
            };
            Some(request.next(state))
        }
        RequestState::Claimed { .. }
        | RequestState::Finished { .. }
        | RequestState::Unknown { .. }
        | RequestState::NeedsHuman { .. }
        | RequestState::Released { .. }
        | RequestState::Expired { .. } => None,
    }
}

impl Request {
    pub(super) fn finished(&self, kept: Kept, by: Witness, now: Timestamp) -> Self {
        self.next(RequestState::Finished { at: now, kept, by })
    }

    pub(super) fn released(&self, error: ErrorText, by: Witness, now: Timestamp) -> Self {
        self.next(RequestState::Released { at: now, by, error })
    }

    fn broke_off(&self, error: ErrorText, now: Timestamp) -> Self {
        let state = RequestState::Unknown {
            since: now,
            ask_at: now,
            asked: 0,
            error,
        };
        Self {
            settles_at: now.after(self.clocks.settles_within),
            ..self.next(state)
        }
    }
}
