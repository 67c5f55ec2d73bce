//! Handing in a job: what comes in, checked field by field, and what goes out.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use surefoot::Intent;
use surefoot_core::id::{ConcurrencyKey, Key, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::{PRIORITY_RANGE, PRIORITY_STANDARD, TraceContext};
use surefoot_core::payload::Payload;
use utoipa::ToSchema;

use super::job::JobDocument;
use super::time::WireTime;
use crate::problem::Problem;

/// What a caller wants to happen once. All but `kind` is optional.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Enqueue)]
pub(crate) struct EnqueueBody {
    /// What the job does: 1 to 128 letters, digits and `_ . : / -`.
    #[schema(example = "send_mail")]
    kind: String,
    /// What makes it one intent: the same kind and key is never started twice. 1 to 255 bytes. Without a key each
    /// request is a job of its own.
    key: Option<String>,
    /// What the handler is given: any JSON of at most 1 MiB, kept byte for byte. Default `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    /// Where it waits. Default `default`.
    queue: Option<String>,
    /// The earliest time it runs. Default: at once.
    run_at: Option<WireTime>,
    /// A higher number runs earlier. Default 0.
    #[schema(minimum = -100, maximum = 100)]
    priority: Option<i16>,
    /// Jobs of one order key run one at a time, first in first out.
    order_key: Option<String>,
    /// After this no attempt starts: later than `run_at`, and than now. Default: by the kind's policy.
    deadline_at: Option<WireTime>,
    /// Jobs of one kind and concurrency key share the kind's limit per key.
    concurrency_key: Option<String>,
}

impl EnqueueBody {
    /// The intent, with the caller's trace context.
    pub(crate) fn into_intent(self, trace: Option<TraceContext>) -> Result<Intent, Problem> {
        let priority = self.priority.unwrap_or(PRIORITY_STANDARD);
        if !PRIORITY_RANGE.contains(&priority) {
            let (min, max) = (PRIORITY_RANGE.start(), PRIORITY_RANGE.end());
            return Err(Problem::field(
                "priority",
                format!("priority is {priority}, give {min} to {max}"),
            ));
        }
        Ok(Intent {
            tenant: Tenant::single(),
            kind: Kind::new(self.kind).map_err(|error| Problem::name("kind", &error))?,
            key: checked("key", self.key, Key::new)?,
            queue: checked("queue", self.queue, Queue::new)?.unwrap_or_else(Queue::standard),
            priority,
            order_key: checked("order_key", self.order_key, OrderKey::new)?,
            concurrency_key: checked("concurrency_key", self.concurrency_key, ConcurrencyKey::new)?,
            payload: payload("payload", self.payload)?,
            trace,
            run_at: self.run_at.map(|WireTime(at)| at),
            deadline_at: self.deadline_at.map(|WireTime(at)| at),
        })
    }
}

/// An optional name as its checked type.
pub(super) fn checked<T>(
    field: &str,
    text: Option<String>,
    check: impl Fn(String) -> Result<T, surefoot_core::id::NameError>,
) -> Result<Option<T>, Problem> {
    text.map(check)
        .transpose()
        .map_err(|error| Problem::name(field, &error))
}

/// A JSON value as it came; none is `null`.
pub(super) fn payload(field: &str, raw: Option<Box<RawValue>>) -> Result<Payload, Problem> {
    let Some(raw) = raw else {
        return Ok(Payload::null());
    };
    Payload::parse(Box::<str>::from(raw).into_string())
        .map_err(|error| Problem::payload(field, &error))
}

/// What became of a job that was handed in, and the job.
#[derive(Serialize, ToSchema)]
pub(crate) struct Enqueued {
    /// Whether this request created the job.
    pub(crate) outcome: EnqueueOutcome,
    #[serde(flatten)]
    pub(crate) job: JobDocument,
}

/// Whether a request created its job.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EnqueueOutcome {
    /// It was written down.
    Created,
    /// Its key was there already, with the same payload.
    Existing,
}
