//! What a witness said became of a request: the dependency when it was asked, a webhook, a person. The first one counts.

use std::time::Duration;

use super::{Kept, Request, RequestState};
use crate::effect::{VerifyPlan, Witness};
use crate::text::ErrorText;
use crate::time::{Roll, Timestamp};

/// What became of a request, says a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestVerdict {
    /// It happened, and this is the answer from here on.
    Happened(Kept),
    /// It did not happen: the same request may run.
    DidNotHappen,
    /// Nobody can say yet.
    StillUnknown {
        /// When to ask again at the earliest; `None` leaves it to the plan.
        ask_again_in: Option<Duration>,
    },
    /// Only a person can tell.
    NeedsHuman(ErrorText),
}

impl RequestVerdict {
    /// The word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Happened(_) => "happened",
            Self::DidNotHappen => "did_not_happen",
            Self::StillUnknown { .. } => "still_unknown",
            Self::NeedsHuman(_) => "needs_human",
        }
    }
}

/// What became of the word of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witnessed {
    /// Write this down: it settles the request.
    Settled(Box<Request>),
    /// Another witness said the same before.
    Same,
    /// Write this down: another witness said something else before, and a person is alerted.
    Disputed(Box<Request>),
    /// Its handler may still be running, or what it did may still take effect: say it again after this time.
    TooEarly(Timestamp),
    /// A witness says what happened; this verdict says nothing.
    NoVerdict,
}

/// The request after a verification that was asked at `asked_at` and answered at `now`; what was not found then says nothing
/// about what came later. `None` when its outcome is not unknown, or not any more.
#[must_use]
pub fn asked(
    request: &Request,
    verdict: RequestVerdict,
    plan: &VerifyPlan,
    asked_at: Timestamp,
    now: Timestamp,
    roll: Roll,
) -> Option<Request> {
    let RequestState::Unknown { since, asked, .. } = request.state else {
        return None;
    };
    let question = Question {
        since,
        asked: asked.saturating_add(1),
        plan,
        now,
        roll,
    };
    Some(match verdict {
        RequestVerdict::Happened(kept) => request.finished(kept, Witness::Query, now),
        RequestVerdict::DidNotHappen if asked_at >= request.settles_at => {
            request.released("asked, it did not happen".into(), Witness::Query, now)
        }
        RequestVerdict::DidNotHappen => {
            let left = request.settles_at.since(now);
            question.again(
                request,
                Some(left),
                "not there yet; it could still take effect",
            )
        }
        RequestVerdict::StillUnknown { ask_again_in } => question.again(
            request,
            ask_again_in,
            "it could not be told what became of it",
        ),
        RequestVerdict::NeedsHuman(error) => request.needs_human(since, error),
    })
}

/// What follows from the word of somebody who was not asked.
#[must_use]
pub fn witnessed(
    request: &Request,
    verdict: RequestVerdict,
    by: Witness,
    now: Timestamp,
) -> Witnessed {
    let word = verdict.as_str();
    match (verdict, &request.state) {
        (RequestVerdict::StillUnknown { .. } | RequestVerdict::NeedsHuman(_), _) => {
            Witnessed::NoVerdict
        }
        (_, RequestState::Claimed { lease_until, .. }) if *lease_until > now => {
            Witnessed::TooEarly(*lease_until)
        }
        // Witnesses rarely have the very same answer; what counts is that it happened.
        (
            RequestVerdict::Happened(_),
            RequestState::Finished { .. } | RequestState::Expired { .. },
        )
        | (RequestVerdict::DidNotHappen, RequestState::Released { .. }) => Witnessed::Same,
        (
            RequestVerdict::DidNotHappen,
            RequestState::Finished { .. } | RequestState::Expired { .. },
        ) => Witnessed::Disputed(Box::new(request.disputed(word, by, now))),
        (RequestVerdict::Happened(_), RequestState::Released { .. }) => {
            Witnessed::Disputed(Box::new(request.disputed_release(word, by, now)))
        }
        (
            RequestVerdict::Happened(kept),
            RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. },
        ) => Witnessed::Settled(Box::new(request.finished(kept, by, now))),
        (
            RequestVerdict::DidNotHappen,
            RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. },
        ) if now >= request.settles_at => Witnessed::Settled(Box::new(request.released(
            "a witness says that it did not happen".into(),
            by,
            now,
        ))),
        (
            RequestVerdict::DidNotHappen,
            RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. },
        ) => Witnessed::TooEarly(request.settles_at),
    }
}

/// One question after which nothing is known.
struct Question<'a> {
    since: Timestamp,
    /// How many there were, this one included.
    asked: u32,
    plan: &'a VerifyPlan,
    now: Timestamp,
    roll: Roll,
}

impl Question<'_> {
    fn again(&self, request: &Request, ask_again_in: Option<Duration>, why: &str) -> Request {
        let planned = self.plan.backoff.delay(self.asked, None, self.roll);
        let ask_at = self
            .now
            .after(ask_again_in.unwrap_or_default().max(planned));
        if self.asked >= self.plan.asks_max || ask_at > self.since.after(self.plan.give_up_after) {
            let error = format!("{why}, after {} questions", self.asked);
            return request.needs_human(self.since, error.into());
        }
        request.next(RequestState::Unknown {
            since: self.since,
            ask_at,
            asked: self.asked,
            error: why.into(),
        })
    }
}

impl Request {
    fn needs_human(&self, since: Timestamp, error: ErrorText) -> Self {
        self.next(RequestState::NeedsHuman { since, error })
    }
}
