//! One typed stream of everything that a relay does, for metrics, traces and logs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, MessageId, SinkName};
use surefoot_core::message::{Message, Proof};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

/// Something that happened. It borrows what it tells of.
#[derive(Clone, Copy, Debug)]
pub enum RelayEvent<'a> {
    /// A sink has a message, and that is on record.
    Delivered {
        /// Which sink.
        sink: &'a SinkName,
        /// Which message.
        message: &'a MessageId,
        /// What the sink said.
        proof: &'a Proof,
        /// How long the delivery took.
        took: Duration,
        /// From its append to its delivery.
        age: Duration,
    },
    /// A try was not known to succeed; the message and those behind it under its key wait.
    Failed {
        /// Which sink.
        sink: &'a SinkName,
        /// Which message.
        message: &'a MessageId,
        /// Why.
        error: &'a ErrorText,
        /// Whether the sink may have it all the same.
        unknown: bool,
        /// How many tries failed so far.
        failed: u32,
        /// When it is tried again.
        due_at: Timestamp,
    },
    /// A message was parked: alert somebody. Those behind it under its key wait for a person too.
    Parked {
        /// Which sink.
        sink: &'a SinkName,
        /// Which message.
        message: &'a MessageId,
        /// Why.
        error: &'a ErrorText,
        /// Whether the sink may have it all the same.
        unknown: bool,
    },
    /// A mark under a lease that is not held any more was refused: another relay delivers the message, perhaps again.
    StaleMark {
        /// Which sink.
        sink: &'a SinkName,
        /// Which message.
        message: &'a MessageId,
        /// The epoch that was refused.
        epoch: Epoch,
    },
    /// What became of a delivery could not be written before its lease ended: it is delivered again.
    MarkDropped {
        /// Which sink.
        sink: &'a SinkName,
        /// Which message.
        message: &'a MessageId,
    },
    /// A verb of the store failed.
    StoreError {
        /// Which verb.
        verb: &'static str,
        /// How.
        error: &'a StoreError,
    },
}

/// Sees everything that a relay does. It is called on the relay's own tasks: it must not block. Its panics are caught and
/// logged.
pub trait RelayObserver: Send + Sync + 'static {
    /// Takes note of something that happened.
    fn on(&self, event: &RelayEvent<'_>);

    /// The span that a delivery runs in.
    fn delivery_span(&self, sink: &SinkName, message: &Message) -> tracing::Span {
        tracing::info_span!(
            "message.delivery",
            sink = %sink,
            message = %message.id,
            topic = %message.topic,
            traceparent = message.trace.as_ref().map(|trace| trace.as_str()),
        )
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRelayObserver;

impl RelayObserver for NoRelayObserver {
    fn on(&self, _event: &RelayEvent<'_>) {}
}

/// An observer whose panics end with it.
pub(super) struct Guarded(pub(super) Arc<dyn RelayObserver>);

impl RelayObserver for Guarded {
    fn on(&self, event: &RelayEvent<'_>) {
        if catch_unwind(AssertUnwindSafe(|| self.0.on(event))).is_err() {
            tracing::error!(?event, "the observer panicked");
        }
    }

    fn delivery_span(&self, sink: &SinkName, message: &Message) -> tracing::Span {
        catch_unwind(AssertUnwindSafe(|| self.0.delivery_span(sink, message))).unwrap_or_else(
            |_| {
                tracing::error!(message = %message.id, "the observer panicked");
                tracing::Span::none()
            },
        )
    }
}
