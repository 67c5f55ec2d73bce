//! Requests of the front door as others see them. A field that does not apply to the state is `null`, never absent.

use serde::Serialize;
use surefoot_core::effect::Witness;
use surefoot_core::port::RequestHead;
use surefoot_core::request::{Kept, Request, RequestState};
use utoipa::ToSchema;

use super::body::{ResponseRecord, TombstoneRecord};
use super::dispute::{DisputeRecord, WitnessRecord};
use super::time::WireTime;
use super::word::RequestStateWord;

/// A request, as a page of requests shows it: all but its answer and its witnesses.
#[derive(Serialize, ToSchema)]
pub(crate) struct RequestSummary {
    /// Its id, a UUID version 7: that of the arrival that first claimed the key. The service sees it as
    /// `surefoot-request`.
    #[schema(format = "uuid")]
    id: String,
    /// Whose it is.
    tenant: String,
    /// What its client calls it: the value of `Idempotency-Key`, without quotes.
    key: String,
    /// The method that was asked for.
    method: String,
    /// The route that serves it; `*` where none is configured.
    route: String,
    /// Its state.
    state: RequestStateWord,
    /// Since when it is in its state; for one that expired, when it finished.
    since: WireTime,
    /// When its key was first claimed.
    claimed_at: WireTime,
    /// The epoch of the latest claim, 1 for the first.
    epoch: i64,
    /// When somebody looks at it next: at the end of its lease, or to ask what became of it.
    #[schema(required)]
    due_at: Option<WireTime>,
    /// The status of its answer, where it has one.
    #[schema(required)]
    status: Option<u16>,
    /// Why it is in its state, where that has a reason.
    #[schema(required)]
    error: Option<String>,
    /// How many later witnesses said something else.
    disputed: u32,
}

/// A request of the front door.
#[derive(Serialize, ToSchema)]
#[schema(as = Request)]
pub(crate) struct RequestRecord {
    #[serde(flatten)]
    summary: RequestSummary,
    /// The node that runs it, or ran it until its lease ended.
    #[schema(required)]
    holder: Option<String>,
    /// How long it may run, while it is claimed. After that the outcome is unknown, whether `state` says so or not.
    #[schema(required)]
    lease_until: Option<WireTime>,
    /// No call of the latest claim takes effect after this.
    settles_at: WireTime,
    /// How many times it was asked what became of it, while that is unknown.
    #[schema(required)]
    asked: Option<u32>,
    /// Who said what became of it.
    #[schema(required)]
    witness: Option<WitnessRecord>,
    /// The answer that every repetition gets.
    #[schema(required)]
    response: Option<ResponseRecord>,
    /// What is known of the answer, where it is not kept.
    #[schema(required)]
    tombstone: Option<TombstoneRecord>,
    /// Until when its answer is replayed.
    #[schema(required)]
    expires_at: Option<WireTime>,
    /// Until when its key stays taken.
    #[schema(required)]
    forget_at: Option<WireTime>,
    /// Witnesses that came later and said something else.
    disputes: Vec<DisputeRecord>,
}

impl From<&RequestHead> for RequestSummary {
    fn from(head: &RequestHead) -> Self {
        Self {
            id: head.id.to_string(),
            tenant: head.identity.tenant.to_string(),
            key: head.identity.key.to_string(),
            method: head.operation.method().to_owned(),
            route: head.operation.route().to_owned(),
            state: RequestStateWord(head.state),
            since: head.since.into(),
            claimed_at: head.claimed_at.into(),
            epoch: head.epoch.0,
            due_at: head.due_at.map(WireTime),
            status: head.status,
            error: head.error.as_ref().map(ToString::to_string),
            disputed: head.disputes,
        }
    }
}

impl From<&Request> for RequestRecord {
    fn from(request: &Request) -> Self {
        let known = Known::of(&request.state);
        Self {
            summary: RequestSummary::from(&RequestHead::of(request)),
            holder: known.holder,
            lease_until: known.lease_until,
            settles_at: request.settles_at.into(),
            asked: known.asked,
            witness: known.witness,
            response: known.response,
            tombstone: known.tombstone,
            expires_at: request.expires_at().map(WireTime),
            forget_at: request.forget_at().map(WireTime),
            disputes: request.disputes.iter().map(DisputeRecord::from).collect(),
        }
    }
}

/// What a state says.
#[derive(Default)]
struct Known {
    holder: Option<String>,
    lease_until: Option<WireTime>,
    asked: Option<u32>,
    witness: Option<WitnessRecord>,
    response: Option<ResponseRecord>,
    tombstone: Option<TombstoneRecord>,
}

impl Known {
    fn of(state: &RequestState) -> Self {
        let by = |witness: &Witness| Some(WitnessRecord::from(witness));
        match state {
            RequestState::Claimed {
                holder,
                lease_until,
                ..
            } => Self {
                holder: Some(holder.to_string()),
                lease_until: Some((*lease_until).into()),
                ..Self::default()
            },
            RequestState::Finished {
                kept: Kept::Response(response),
                by: witness,
                ..
            } => Self {
                response: Some(response.into()),
                witness: by(witness),
                ..Self::default()
            },
            RequestState::Finished {
                kept: Kept::Tombstone(tombstone),
                by: witness,
                ..
            } => Self {
                tombstone: Some(tombstone.into()),
                witness: by(witness),
                ..Self::default()
            },
            RequestState::Unknown { asked, .. } => Self {
                asked: Some(*asked),
                ..Self::default()
            },
            RequestState::Released { by: witness, .. } => Self {
                witness: by(witness),
                ..Self::default()
            },
            RequestState::NeedsHuman { .. } | RequestState::Expired { .. } => Self::default(),
        }
    }
}
