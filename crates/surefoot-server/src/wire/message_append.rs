//! Appending a message: what comes in, checked field by field, what goes out, and whose message a path names.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use surefoot_core::id::{MessageId, OrderKey, Tenant, Topic};
use surefoot_core::job::TraceContext;
use surefoot_core::message::{Message, MessageNumber};
use surefoot_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::enqueue::{checked, payload};
use super::page::parsed;
use crate::problem::Problem;

/// An event that others are to be told of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Append)]
pub(crate) struct AppendBody {
    /// What makes it one message, within its tenant: made by whoever appends it, the same when the request is repeated, and
    /// what a consumer deduplicates by. 1 to 255 printable bytes.
    #[schema(example = "order-17-paid")]
    id: String,
    /// What it is about; sinks choose by it. 1 to 128 letters, digits and `_ . : / -`.
    #[schema(example = "order.paid")]
    topic: String,
    /// Messages of one key are delivered to each sink one after the other, in the order in which they were appended. 1 to 255
    /// printable bytes. Without a key there is no order.
    key: Option<String>,
    /// What it says: any JSON of at most 1 MiB, kept byte for byte. Default `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    /// Whose it is. Default `default`.
    tenant: Option<String>,
}

impl AppendBody {
    /// The message, with the caller's trace context.
    pub(crate) fn into_message(
        self,
        trace: Option<TraceContext>,
        now: Timestamp,
    ) -> Result<Message, Problem> {
        Ok(Message {
            id: MessageId::new(self.id).map_err(|error| Problem::name("id", &error))?,
            tenant: tenant(self.tenant)?,
            topic: Topic::new(self.topic).map_err(|error| Problem::name("topic", &error))?,
            key: checked("key", self.key, OrderKey::new)?,
            payload: payload("payload", self.payload)?,
            trace,
            appended_at: now,
        })
    }
}

/// The tenant that a body names.
pub(super) fn tenant(name: Option<String>) -> Result<Tenant, Problem> {
    Ok(checked("tenant", name, Tenant::new)?.unwrap_or_else(Tenant::single))
}

/// Whose message a path names: an id counts within one tenant.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageQuery {
    /// Whose it is. Default `default`.
    tenant: Option<String>,
}

impl MessageQuery {
    pub(crate) fn tenant(self) -> Result<Tenant, Problem> {
        let tenant = parsed("tenant", self.tenant, Tenant::new)?;
        Ok(tenant.unwrap_or_else(Tenant::single))
    }
}

/// What became of a message that was appended.
#[derive(Serialize, ToSchema)]
pub(crate) struct Appended {
    /// Whether this request wrote it down.
    outcome: AppendOutcome,
    /// Its id.
    id: String,
    /// Whose it is.
    tenant: String,
    /// Its place in the order of arrival.
    number: i64,
}

/// Whether a request wrote its message down.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AppendOutcome {
    /// It was written down.
    Written,
    /// It had been written already: the same request repeated.
    Already,
}

impl Appended {
    pub(crate) fn new(outcome: AppendOutcome, message: &Message, number: MessageNumber) -> Self {
        Self {
            outcome,
            id: message.id.to_string(),
            tenant: message.tenant.to_string(),
            number: number.0,
        }
    }
}

/// Where a message is: its id as a segment of a path, and its tenant unless that is the single one.
pub(crate) fn location(message: &Message) -> String {
    let id = segment(message.id.as_str());
    if message.tenant == Tenant::single() {
        return format!("/v1/messages/{id}");
    }
    let tenant = segment(message.tenant.as_str());
    format!("/v1/messages/{id}?tenant={tenant}")
}

/// Percent-encoded but for what RFC 3986 calls unreserved.
fn segment(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_segment_whatever_it_holds() {
        let table = [
            ("order-17_paid.~", "order-17_paid.~"),
            ("a/b?c#d e%", "a%2Fb%3Fc%23d%20e%25"),
            ("đơn", "%C4%91%C6%A1n"),
        ];
        for (text, expected) in table {
            assert_eq!(segment(text), expected);
        }
    }
}
