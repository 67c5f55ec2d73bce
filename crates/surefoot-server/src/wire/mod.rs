//! The shapes that travel. Their names are a promise to every client; core's types know nothing of them, and a value
//! that comes in is turned into a checked type of core here and nowhere else.

mod body;
mod by;
mod dead;
mod delivery;
mod dependency;
mod dispute;
mod effect;
mod enqueue;
mod job;
mod json;
mod lease;
mod message;
mod message_append;
mod page;
mod pull_effect;
mod queue;
mod record;
mod request;
mod request_page;
mod request_verdict;
mod sink;
mod steer;
mod text;
mod time;
mod witness;
mod word;

pub(crate) use by::{ByBody, MustReason};
pub(crate) use dead::{DeadGroups, dead_groups};
pub(crate) use delivery::{AgainBody, DeliveryPage, DeliveryPageQuery, DeliverySteered, SkipBody};
pub(crate) use dependency::{BreakerBody, DependencyList, DependencyRecord, dependency_list};
pub(crate) use effect::EffectRecord;
pub(crate) use enqueue::{EnqueueBody, EnqueueOutcome, Enqueued};
pub(crate) use job::{JobDocument, View};
pub(crate) use json::Json;
pub(crate) use lease::{
    ClaimBody, EpochBody, Extension, FailBody, Leases, ReportOutcome, Reported, SucceedBody,
    UnknownBody, lease,
};
pub(crate) use message::MessageDocument;
pub(crate) use message_append::{AppendBody, AppendOutcome, Appended, MessageQuery, location};
pub(crate) use page::{JobPage, PageQuery};
pub(crate) use pull_effect::{AnswerBody, AskedBody, BeginEffectBody, EffectOrder};
pub(crate) use queue::{QueueList, Resumed, queue_list};
pub(crate) use request::RequestRecord;
pub(crate) use request_page::{RequestPage, RequestPageQuery, TenantQuery};
pub(crate) use request_verdict::{RequestVerdictBody, RequestWitnessed};
pub(crate) use sink::{SinkList, sink_list};
pub(crate) use steer::{EditBody, IgnoreBody, ReplayBody, Steered};
pub(crate) use time::civil;
pub(crate) use witness::{VerdictBody, Witnessed, WitnessedOutcome};
