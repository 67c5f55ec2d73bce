//! One message to one sink, from its append to its end.

use super::MessageNumber;
use crate::id::{Epoch, SinkName, Worker};
use crate::port::By;
use crate::text::ErrorText;
use crate::time::Timestamp;

/// One message to one sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where to.
    pub sink: SinkName,
    /// The message's number.
    pub number: MessageNumber,
    /// How many tries failed since it was appended, or since a person ordered it to be tried again.
    pub failed: u32,
    /// How many times its holder was lost since then.
    pub lost: u32,
    /// Its state.
    pub state: DeliveryState,
}

/// What is known of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is to be delivered, once those before it under its key have ended.
    Waiting {
        /// The earliest time.
        due_at: Timestamp,
        /// Why the latest try failed.
        error: Option<ErrorText>,
    },
    /// A relay may be delivering it.
    Taken {
        /// Which.
        holder: Worker,
        /// Fences what the holder says of it.
        epoch: Epoch,
        /// After this, another relay may take it.
        lease_until: Timestamp,
    },
    /// The sink has it.
    Delivered {
        /// When.
        at: Timestamp,
        /// What the sink said.
        proof: Proof,
    },
    /// It is not delivered any more by itself: a person decides. Those behind it under its key wait for that.
    Parked {
        /// Since when.
        at: Timestamp,
        /// Why.
        error: ErrorText,
    },
    /// A person decided that this sink does not get it.
    Skipped {
        /// When.
        at: Timestamp,
        /// Who and why.
        by: By,
    },
}

/// The word for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the state with the same name")]
pub enum DeliveryStateName {
    Waiting,
    Taken,
    Delivered,
    Parked,
    Skipped,
}

impl DeliveryStateName {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Waiting,
        Self::Taken,
        Self::Delivered,
        Self::Parked,
        Self::Skipped,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Taken => "taken",
            Self::Delivered => "delivered",
            Self::Parked => "parked",
            Self::Skipped => "skipped",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }

    /// Whether the delivery has ended; one that has not holds up those behind it, and is never forgotten.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        match self {
            Self::Delivered | Self::Skipped => true,
            Self::Waiting | Self::Taken | Self::Parked => false,
        }
    }
}

impl DeliveryState {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> DeliveryStateName {
        match self {
            Self::Waiting { .. } => DeliveryStateName::Waiting,
            Self::Taken { .. } => DeliveryStateName::Taken,
            Self::Delivered { .. } => DeliveryStateName::Delivered,
            Self::Parked { .. } => DeliveryStateName::Parked,
            Self::Skipped { .. } => DeliveryStateName::Skipped,
        }
    }
}

/// What a sink said that shows that it has a message, such as where a broker has put it. As short and as clean as an
/// [`ErrorText`]; it may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof(ErrorText);

impl Proof {
    /// A proof in these words.
    pub fn new(text: impl Into<ErrorText>) -> Self {
        Self(text.into())
    }

    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}
