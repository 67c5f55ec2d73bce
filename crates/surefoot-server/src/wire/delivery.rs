//! Deliveries that wait for a person, in pages by number and sink, and what a person orders about one.

use serde::{Deserialize, Serialize};
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::DeliveryStateName;
use surefoot_core::port::{By, DeliveryId, ParkedDelivery};
use utoipa::{IntoParams, ToSchema};

use super::by::{ByBody, MustReason};
use super::message::MessageHead;
use super::message_append::tenant;
use super::page::{limit, parsed};
use super::text::Text;
use super::time::WireTime;
use super::word::DeliveryStateWord;
use crate::auth::Caller;
use crate::problem::Problem;

/// Which deliveries to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeliveryPageQuery {
    /// How many deliveries, 1 to 200. Default 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Deliveries after this one: `next` of the page before.
    after: Option<String>,
    /// In this state: `parked`, which is also the default; others are counted by `GET /v1/sinks` and not listed.
    state: Option<String>,
    /// To this sink.
    sink: Option<String>,
}

/// A checked query.
pub(crate) struct DeliveriesWanted {
    pub(crate) sink: Option<SinkName>,
    pub(crate) after: Option<DeliveryId>,
    pub(crate) limit: u32,
}

impl DeliveryPageQuery {
    pub(crate) fn into_wanted(self) -> Result<DeliveriesWanted, Problem> {
        let parked = |text: String| match DeliveryStateName::parse(&text) {
            Some(DeliveryStateName::Parked) => Ok(()),
            Some(
                DeliveryStateName::Waiting
                | DeliveryStateName::Taken
                | DeliveryStateName::Delivered
                | DeliveryStateName::Skipped,
            )
            | None => Err(format!(
                "state is {text:?}, and only parked deliveries are listed; give parked, or leave it out"
            )),
        };
        parsed("state", self.state, parked)?;
        Ok(DeliveriesWanted {
            sink: parsed("sink", self.sink, SinkName::new)?,
            after: parsed("after", self.after, |text| text.parse::<DeliveryId>())?,
            limit: limit(self.limit)?,
        })
    }
}

/// A page of parked deliveries, in the order in which their messages arrived.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeliveryPage {
    /// The deliveries.
    deliveries: Vec<ParkedRecord>,
    /// What to give as `after` for the next page; `null` on the last one.
    #[schema(required)]
    next: Option<String>,
}

/// A delivery that waits for a person; those behind it under its key wait for that. What the message says is shown by
/// `GET /v1/messages/{id}`.
#[derive(Serialize, ToSchema)]
#[schema(as = ParkedDelivery)]
struct ParkedRecord {
    /// Where to.
    sink: String,
    /// Its state.
    state: DeliveryStateWord,
    /// Since when.
    since: WireTime,
    /// Why.
    error: String,
    /// How many tries failed.
    failed: u32,
    /// How many times its holder was lost.
    lost: u32,
    /// What was to be delivered.
    message: MessageHead,
}

impl DeliveryPage {
    /// The first `limit` of `parked`; that there are more says that there is a next page.
    pub(crate) fn new(parked: &[ParkedDelivery], limit: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let shown = &parked[..parked.len().min(limit)];
        let last = shown.last().filter(|_| parked.len() > limit);
        Self {
            deliveries: shown.iter().map(ParkedRecord::from).collect(),
            next: last.map(|parked| parked.delivery.to_string()),
        }
    }
}

impl From<&ParkedDelivery> for ParkedRecord {
    fn from(parked: &ParkedDelivery) -> Self {
        Self {
            sink: parked.delivery.sink.to_string(),
            state: DeliveryStateWord(DeliveryStateName::Parked),
            since: parked.at.into(),
            error: parked.error.to_string(),
            failed: parked.failed,
            lost: parked.lost,
            message: MessageHead::of(parked.delivery.number, &parked.message),
        }
    }
}

/// A person's order to try a parked delivery again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Again)]
pub(crate) struct AgainBody {
    /// Whose message it is. Default `default`.
    tenant: Option<String>,
    /// Who does it.
    actor: Option<String>,
    /// Why.
    reason: Option<Text>,
}

impl AgainBody {
    pub(crate) fn into_order(self, caller: &Caller) -> Result<(Tenant, By), Problem> {
        order(self.tenant, self.actor, self.reason, caller, MustReason::No)
    }
}

/// A person's decision that a sink does not get a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Skip)]
pub(crate) struct SkipBody {
    /// Whose message it is. Default `default`.
    tenant: Option<String>,
    /// Who does it.
    actor: Option<String>,
    /// Why: more than blanks.
    #[schema(required, value_type = String, min_length = 1)]
    reason: Option<Text>,
}

impl SkipBody {
    pub(crate) fn into_order(self, caller: &Caller) -> Result<(Tenant, By), Problem> {
        order(
            self.tenant,
            self.actor,
            self.reason,
            caller,
            MustReason::Yes,
        )
    }
}

fn order(
    name: Option<String>,
    actor: Option<String>,
    reason: Option<Text>,
    caller: &Caller,
    must_reason: MustReason,
) -> Result<(Tenant, By), Problem> {
    let by = ByBody { actor, reason }.into_by(caller, must_reason)?;
    Ok((tenant(name)?, by))
}

/// What a delivery's state is after a person's order.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeliverySteered {
    /// Which message.
    id: String,
    /// Whose it is.
    tenant: String,
    /// Which sink.
    sink: String,
    /// The state of the delivery from here on.
    state: DeliveryStateWord,
}

impl DeliverySteered {
    pub(crate) fn to(
        tenant: &Tenant,
        id: &MessageId,
        sink: &SinkName,
        state: DeliveryStateName,
    ) -> Self {
        Self {
            id: id.to_string(),
            tenant: tenant.to_string(),
            sink: sink.to_string(),
            state: DeliveryStateWord(state),
        }
    }
}
