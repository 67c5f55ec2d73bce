//! What is on record about one request.

use super::{Clocks, Fingerprint, Identity, Kept, Operation, RequestId};
use crate::effect::{Dispute, Witness};
use crate::id::{Epoch, Worker};
use crate::text::ErrorText;
use crate::time::Timestamp;

/// What is on record about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The id of the arrival that first claimed the key.
    pub id: RequestId,
    /// What makes it one intent.
    pub identity: Identity,
    /// Which operation was asked for.
    pub operation: Operation,
    /// What was asked.
    pub fingerprint: Fingerprint,
    /// When the key was first claimed.
    pub claimed_at: Timestamp,
    /// The clocks of its route when it was last claimed.
    pub clocks: Clocks,
    /// 1 when it is first written, one more with each change; a write that does not follow on the stored one is
    /// refused.
    pub version: u32,
    /// The epoch of the latest claim, 1 for the first; it rises with each claim.
    pub epoch: Epoch,
    /// No call of the latest claim takes effect after this.
    pub settles_at: Timestamp,
    /// What is known of it.
    pub state: RequestState,
    /// Witnesses that came later and said something else.
    pub disputes: Vec<Dispute>,
}

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// Its handler may be running, until the lease ends.
    Claimed {
        /// The arrival that holds it.
        claim: RequestId,
        /// The node that runs it.
        holder: Worker,
        /// Since when.
        since: Timestamp,
        /// How long at most. After it the outcome is unknown, whether that was written down or not.
        lease_until: Timestamp,
    },
    /// It happened, or was refused by its handler for good: this is the answer, now and for every repetition.
    Finished {
        /// When.
        at: Timestamp,
        /// What is kept of the answer.
        kept: Kept,
        /// Who said so.
        by: Witness,
    },
    /// It may have happened, and nobody knows.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// When to ask what became of it.
        ask_at: Timestamp,
        /// How many times that was asked.
        asked: u32,
        /// Why nobody knows.
        error: ErrorText,
    },
    /// It may have happened, and no question is left to ask: a person decides.
    NeedsHuman {
        /// Since when.
        since: Timestamp,
        /// Why.
        error: ErrorText,
    },
    /// Nothing happened: the same request may run.
    Released {
        /// When that was said.
        at: Timestamp,
        /// Who said so.
        by: Witness,
        /// What was said.
        error: ErrorText,
    },
    /// It finished, and its answer is not kept any more.
    Expired {
        /// When it finished.
        at: Timestamp,
        /// The status of the answer.
        status: u16,
    },
}

/// The word for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the state with the same name")]
pub enum RequestStateName {
    Claimed,
    Finished,
    Unknown,
    NeedsHuman,
    Released,
    Expired,
}

impl RequestStateName {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Claimed,
        Self::Finished,
        Self::Unknown,
        Self::NeedsHuman,
        Self::Released,
        Self::Expired,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Finished => "finished",
            Self::Unknown => "unknown",
            Self::NeedsHuman => "needs_human",
            Self::Released => "released",
            Self::Expired => "expired",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }
}

impl RequestState {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> RequestStateName {
        match self {
            Self::Claimed { .. } => RequestStateName::Claimed,
            Self::Finished { .. } => RequestStateName::Finished,
            Self::Unknown { .. } => RequestStateName::Unknown,
            Self::NeedsHuman { .. } => RequestStateName::NeedsHuman,
            Self::Released { .. } => RequestStateName::Released,
            Self::Expired { .. } => RequestStateName::Expired,
        }
    }
}

impl Request {
    /// When somebody has to look at it next: at the end of its lease, or when to ask what became of it. `None` where
    /// nothing happens by itself.
    #[must_use]
    pub const fn due_at(&self) -> Option<Timestamp> {
        match self.state {
            RequestState::Claimed { lease_until, .. } => Some(lease_until),
            RequestState::Unknown { ask_at, .. } => Some(ask_at),
            RequestState::Finished { .. }
            | RequestState::NeedsHuman { .. }
            | RequestState::Released { .. }
            | RequestState::Expired { .. } => None,
        }
    }

    /// From when on the answer is not replayed any more; `None` where there is none to replay.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        match self.state {
            RequestState::Finished { at, .. } => Some(at.after(self.clocks.retention)),
            RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. }
            | RequestState::Released { .. }
            | RequestState::Expired { .. } => None,
        }
    }

    /// From when on the record may be forgotten, and its key with it. `None` while the outcome is open: such a record is
    /// never forgotten.
    #[must_use]
    pub fn forget_at(&self) -> Option<Timestamp> {
        match self.state {
            RequestState::Finished { at, .. }
            | RequestState::Expired { at, .. }
            | RequestState::Released { at, .. } => Some(at.after(self.clocks.tombstone)),
            RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. } => None,
        }
    }

    /// When something of it leaves next: its answer ([`Request::expires_at`]), and after that the record
    /// ([`Request::forget_at`]). An answer is never forgotten before its retention is over.
    #[must_use]
    pub fn leaves_at(&self) -> Option<Timestamp> {
        self.expires_at().or(self.forget_at())
    }

    /// The request without its answer, where it is not to be replayed any more at `now`; `None` where nothing changes.
    #[must_use]
    pub fn expired(&self, now: Timestamp) -> Option<Self> {
        match &self.state {
            RequestState::Finished { at, kept, .. } if self.expires_at() <= Some(now) => {
                let status = kept.status();
                Some(self.next(RequestState::Expired { at: *at, status }))
            }
            RequestState::Finished { .. }
            | RequestState::Claimed { .. }
            | RequestState::Unknown { .. }
            | RequestState::NeedsHuman { .. }
            | RequestState::Released { .. }
            | RequestState::Expired { .. } => None,
        }
    }

    /// The same request, changed once.
    pub(super) fn next(&self, state: RequestState) -> Self {
        Self {
            version: self.version.saturating_add(1),
            state,
            ..self.clone()
        }
    }
}
