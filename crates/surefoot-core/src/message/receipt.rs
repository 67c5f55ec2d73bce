//! The inbox: that one consumer has accepted one message, once.

use super::Message;
use crate::id::{Consumer, MessageId, Source, Tenant};
use crate::time::Timestamp;

/// One message as one consumer has it. All four make it one receipt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// Whose message it is.
    pub tenant: Tenant,
    /// Where it came from.
    pub source: Source,
    /// The id that its source gives it, the same each time that it is sent.
    pub message: MessageId,
    /// Who processes it.
    pub consumer: Consumer,
}

impl Receipt {
    /// The receipt for a message of an outbox, which is its `source`.
    #[must_use]
    pub fn of(source: Source, message: &Message, consumer: Consumer) -> Self {
        Self {
            tenant: message.tenant.clone(),
            source,
            message: message.id.clone(),
            consumer,
        }
    }
}

/// What became of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// This is the first time: process the message, in the same transaction.
    First,
    /// It was accepted before: do nothing, and tell the source that all is well.
    Duplicate {
        /// When it was accepted.
        at: Timestamp,
    },
}
