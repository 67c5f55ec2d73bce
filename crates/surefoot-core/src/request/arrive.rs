//! What follows when a request comes in. The same function answers for every store, inside its transaction.

use std::time::Duration;

use super::{
    Clocks, Fingerprint, Identity, Kept, Operation, Request, RequestId, RequestState,
    StoredResponse, Tombstone,
};
use crate::id::{Epoch, Worker};
use crate::time::Timestamp;

/// The shortest wait that a client is told.
pub const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);

/// The longest wait that a client is told.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);

/// A request that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRequest {
    /// Made by the caller for each arrival, so that a repeated call is seen as one.
    pub id: RequestId,
    /// What makes it one intent.
    pub identity: Identity,
    /// Which operation is asked for.
    pub operation: Operation,
    /// What is asked.
    pub fingerprint: Fingerprint,
    /// The clocks of its route.
    pub clocks: Clocks,
    /// The node that would run it.
    pub holder: Worker,
}

/// What to do about a request that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// It is claimed: run it, under the epoch of this record.
    Run(Box<Request>),
    /// It is done: answer this.
    Replay {
        /// The answer.
        response: Box<StoredResponse>,
        /// When it was given first.
        finished_at: Timestamp,
    },
    /// It is done, and its answer was not kept.
    NotKept {
        /// What is known of the answer.
        tombstone: Tombstone,
        /// When it was given.
        finished_at: Timestamp,
    },
    /// It is done, and its answer is kept no longer.
    Gone {
        /// When it was given.
        finished_at: Timestamp,
        /// The status of the answer.
        status: u16,
    },
    /// The key was used for something else.
    Mismatch {
        /// The names of the fields that differ, never their values; at most
        /// [`FIELDS_NAMED_MAX`](super::FIELDS_NAMED_MAX).
        fields: Vec<String>,
    },
    /// It is running.
    Running {
        /// When to ask again.
        retry_after: Duration,
    },
    /// It may have happened, and nobody knows yet.
    UnknownOutcome {
        /// Since when.
        since: Timestamp,
        /// When to ask again; `None` where a person has to decide.
        retry_after: Option<Duration>,
    },
}

/// Decides about a request whose key is on record as `known`, if it is. What is running when its lease is over counts as
/// unknown, what has expired counts as gone, whether that was written down or not; only what is on record as released runs
/// again. When the answer is [`Arrived::Run`] with a record that is not `known` itself, that record is to be written.
#[must_use]
pub fn arrive(known: Option<&Request>, new: &NewRequest, now: Timestamp) -> Arrived {
    let Some(known) = known else {
        return Arrived::Run(Box::new(first(new, now)));
    };
    let fields = known.differs(new);
    if !fields.is_empty() {
        return Arrived::Mismatch { fields };
    }
    match &known.state {
        RequestState::Claimed { lease_until, .. } if *lease_until <= now => {
            Arrived::UnknownOutcome {
                since: *lease_until,
                retry_after: Some(RETRY_AFTER_MIN),
            }
        }
        // The same call, repeated because its answer was lost: nothing has run yet.
        RequestState::Claimed { claim, .. } if *claim == new.id => {
            Arrived::Run(Box::new(known.clone()))
        }
        RequestState::Claimed { lease_until, .. } => Arrived::Running {
            retry_after: wait(lease_until.since(now)),
        },
        RequestState::Finished { at, kept, .. } if known.expires_at() <= Some(now) => {
            Arrived::Gone {
                finished_at: *at,
                status: kept.status(),
            }
        }
        RequestState::Finished {
            at,
            kept: Kept::Response(response),
            ..
        } => Arrived::Replay {
            response: Box::new(response.clone()),
            finished_at: *at,
        },
        RequestState::Finished {
            at,
            kept: Kept::Tombstone(tombstone),
            ..
        } => Arrived::NotKept {
            tombstone: tombstone.clone(),
            finished_at: *at,
        },
        RequestState::Unknown { since, ask_at, .. } => Arrived::UnknownOutcome {
            since: *since,
            retry_after: Some(wait(ask_at.since(now))),
        },
        RequestState::NeedsHuman { since, .. } => Arrived::UnknownOutcome {
            since: *since,
            retry_after: None,
        },
        RequestState::Released { .. } => Arrived::Run(Box::new(again(known, new, now))),
        RequestState::Expired { at, status } => Arrived::Gone {
            finished_at: *at,
            status: *status,
        },
    }
}

fn wait(left: Duration) -> Duration {
    left.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX)
}

fn first(new: &NewRequest, now: Timestamp) -> Request {
    let lease_until = now.after(new.clocks.lease);
    Request {
        id: new.id,
        identity: new.identity.clone(),
        operation: new.operation.clone(),
        fingerprint: new.fingerprint.clone(),
        claimed_at: now,
        clocks: new.clocks,
        version: 1,
        epoch: Epoch::NEVER.next(),
        settles_at: lease_until.after(new.clocks.settles_within),
        state: claimed(new, now),
        disputes: Vec::new(),
    }
}

/// A released request, claimed once more.
fn again(known: &Request, new: &NewRequest, now: Timestamp) -> Request {
    let lease_until = now.after(new.clocks.lease);
    Request {
        clocks: new.clocks,
        epoch: known.epoch.next(),
        settles_at: lease_until.after(new.clocks.settles_within),
        ..known.next(claimed(new, now))
    }
}

fn claimed(new: &NewRequest, now: Timestamp) -> RequestState {
    RequestState::Claimed {
        claim: new.id,
        holder: new.holder.clone(),
        since: now,
        lease_until: now.after(new.clocks.lease),
    }
}

impl Request {
    /// The names of the fields in which another request under the key differs; empty when it is the same request.
    fn differs(&self, new: &NewRequest) -> Vec<String> {
        self.fingerprint.differs(&new.fingerprint)
    }
}
