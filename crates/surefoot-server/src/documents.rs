//! The documents of the API for other surfaces, so that a command line prints what the API answers, field by field.
//! They are the API's own shapes in English; nothing is added and nothing is left out.

use serde::Serialize;
use surefoot_core::effect::Effect;
use surefoot_core::job::Job;
use surefoot_core::port::{
    DeadGroup, Depth, JobRecord, MessageRecord, ParkedDelivery, Pause, RequestHead, SinkDepth,
};
use surefoot_core::request::Request;
use surefoot_core::time::Timestamp;

use crate::language::Language;
use crate::wire::{
    self, DeliveryPage, EffectRecord, JobDocument, JobPage, MessageDocument, RequestPage,
    RequestRecord, View,
};

/// One job with its records and effects, as `GET /v1/jobs/{id}` answers at `now`.
#[must_use]
pub fn job(record: &JobRecord, effects: &[Effect], now: Timestamp) -> impl Serialize {
    JobDocument::new(record, effects, english(now))
}

/// The first `limit` of `jobs`, as `GET /v1/jobs` answers at `now`; that there are more says that there is a next page.
#[must_use]
pub fn jobs(jobs: &[Job], limit: u32, now: Timestamp) -> impl Serialize {
    JobPage::new(jobs, limit, english(now))
}

/// One effect, as `GET /v1/effects/{key}` answers.
#[must_use]
pub fn effect(effect: &Effect) -> impl Serialize {
    EffectRecord::from(effect)
}

/// One request of the front door, as `GET /v1/requests/{key}` answers.
#[must_use]
pub fn request(request: &Request) -> impl Serialize {
    RequestRecord::from(request)
}

/// The first `limit` of `heads`, as `GET /v1/requests` answers; that there are more says that there is a next page.
#[must_use]
pub fn requests(heads: &[RequestHead], limit: u32) -> impl Serialize {
    RequestPage::new(heads, limit)
}

/// One message with its deliveries and orders, as `GET /v1/messages/{id}` answers.
#[must_use]
pub fn message(record: &MessageRecord) -> impl Serialize {
    MessageDocument::from(record)
}

/// The first `limit` of `parked`, as `GET /v1/deliveries` answers; that there are more says that there is a next page.
#[must_use]
pub fn deliveries(parked: &[ParkedDelivery], limit: u32) -> impl Serialize {
    DeliveryPage::new(parked, limit)
}

/// How much is open for each sink, as `GET /v1/sinks` answers.
#[must_use]
pub fn sinks(depths: &[SinkDepth]) -> impl Serialize {
    wire::sink_list(depths)
}

/// Dead letters in groups, as `GET /v1/dead` answers; `more` says that there may be further groups.
#[must_use]
pub fn dead_groups(groups: &[DeadGroup], more: bool) -> impl Serialize {
    wire::dead_groups(groups, more)
}

/// The queues, as `GET /v1/queues` answers.
#[must_use]
pub fn queues(depth: &Depth, pauses: &[Pause]) -> impl Serialize {
    wire::queue_list(depth, pauses)
}

const fn english(now: Timestamp) -> View {
    View {
        language: Language::English,
        now,
    }
}
