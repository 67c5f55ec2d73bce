//! The port between the relay, whoever appends and whoever consumes, and what remembers messages. It is apart from
//! [`Store`](super::Store): who only appends or consumes needs nothing of jobs. The rules of the port hold here too.
//!
//! What is delivered is found by the state of each delivery and never by a number or an id that was seen last: a transaction
//! that commits late, with a lower number, is delivered like any other.

use std::time::Duration;

use async_trait::async_trait;

use super::By;
use crate::error::StoreError;
use crate::id::{Epoch, MessageId, SinkName, Tenant, Worker};
use crate::message::{
    Accepted, Delivery, DeliveryStateName, Message, MessageNumber, NextDelivery, Receipt, Topics,
};
use crate::text::ErrorText;
use crate::time::Timestamp;

/// The most deliveries that one take gives.
pub const TAKE_MAX: u32 = 100;

/// The most messages that are made deliveries of when a sink is first subscribed to what is already there.
pub const BACKFILL_MAX: u64 = 100_000;

/// The most orders of people that [`Messages::message`] returns, the latest ones.
pub const MESSAGE_ORDERS_MAX: u32 = 1000;

/// What remembers messages, their deliveries and receipts.
#[async_trait]
pub trait Messages: Send + Sync + 'static {
    /// Writes messages down, at most [`BATCH_MAX`](super::BATCH_MAX), each with a delivery to every sink that is subscribed
    /// to its topic, in one atomic step. A message whose (tenant, id) is there is not written again. Under one key, messages
    /// are in the order in which they are on record: that of the batch, and where appends run inside transactions of their
    /// own, that of the commits, so such an append may wait for another one under the same key.
    async fn append(&self, messages: &[Message]) -> Result<Vec<Appended>, StoreError>;

    /// Puts a sink on record: from here on, every append of these topics makes a delivery to it. A subscription only grows;
    /// topics are taken away by [`unsubscribe`](Self::unsubscribe). What was appended before is delivered too when `since`
    /// says so, as far as it is still on record, in its order, and behind what stands in line under the same key. An append
    /// is either before or after: no message falls between. Repeated, it changes nothing.
    async fn subscribe(
        &self,
        sink: &SinkName,
        topics: &Topics,
        since: Since,
        now: Timestamp,
    ) -> Result<Subscribed, StoreError>;

    /// Takes topics away from a sink, all of them with [`Topics::All`]: appends make no more deliveries of them. Those that
    /// were made stay, and are delivered. Answers whether anything changed.
    async fn unsubscribe(&self, sink: &SinkName, topics: &Topics) -> Result<bool, StoreError>;

    /// Takes deliveries for a holder. Of each key, those at the front of the line and due, the longest due first, each with
    /// as many as follow it under its key; a delivery without a key is in front by itself. A key of which somebody holds a
    /// lease that has not ended, or whose front is parked or not due, gives nothing. What was taken under a lease that ended
    /// at `now` or before is taken from its holder. That counts as lost for the front when it is the first time, and after
    /// that when its holder had said that it leaves ([`depart`](Self::depart)): the answer to a take may have been lost. Each
    /// key that is taken has an epoch that is higher than every one given before.
    async fn take(&self, take: &Take, now: Timestamp) -> Result<Vec<TakenKey>, StoreError>;

    /// Says of deliveries, at most [`BATCH_MAX`](super::BATCH_MAX), that they are about to leave for their sink. It applies,
    /// however often it is repeated, while the delivery is taken under this epoch and in front of its line. Who has a
    /// delivery whose holder was lost before says so before it leaves; with the others it can be left out.
    async fn depart(&self, departures: &[Departure]) -> Result<Vec<Departed>, StoreError>;

    /// Writes down what became of deliveries, at most [`BATCH_MAX`](super::BATCH_MAX), those of one key in their order. A mark
    /// applies when the delivery is taken under this epoch and in front of its line. A mark that does not end the delivery
    /// gives back those behind it that were taken under the same epoch, untried.
    async fn mark(&self, marks: &[Mark]) -> Result<Vec<Marked>, StoreError>;

    /// Parked deliveries, of one sink or of all, by number and sink, those after `after`, at most `limit` and
    /// [`PAGE_MAX`](super::PAGE_MAX).
    async fn parked(
        &self,
        sink: Option<&SinkName>,
        after: Option<&DeliveryId>,
        limit: u32,
    ) -> Result<Vec<ParkedDelivery>, StoreError>;

    /// A parked delivery is tried again, due at `now`, with its counts at zero. The order is kept with the message.
    async fn again(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError>;

    /// A parked delivery ends undelivered, and those behind it go on. The order is kept with the message.
    async fn skip(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError>;

    /// One message with its deliveries, by sink, and the orders of people.
    async fn message(
        &self,
        tenant: &Tenant,
        id: &MessageId,
    ) -> Result<Option<MessageRecord>, StoreError>;

    /// What is open for each sink that is on record or has something open, by name, at most
    /// [`PAGE_MAX`](super::PAGE_MAX).
    async fn message_depth(&self) -> Result<Vec<SinkDepth>, StoreError>;

    /// Forgets deliveries that ended at `before` or earlier, then messages that were appended at `before` or earlier and have
    /// no delivery on record, at most `limit` and [`BATCH_MAX`](super::BATCH_MAX) of each, the oldest first. What is waiting,
    /// taken or parked is never forgotten. The id of a forgotten message is free.
    async fn forget_messages(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<ForgottenMessages, StoreError>;

    /// Accepts a receipt: one atomic step under its unique constraint. Of any number at once one is the first. This is for a
    /// consumer whose work is no row of this database; where it is, the receipt belongs into the same transaction
    /// (`accept_in` of the stores), because a crash between the two loses the message or does it twice.
    async fn accept(&self, receipt: &Receipt, now: Timestamp) -> Result<Accepted, StoreError>;

    /// Forgets receipts that were accepted at `before` or earlier, at most `limit` and [`BATCH_MAX`](super::BATCH_MAX), the
    /// oldest first; answers how many. A source that sends again after that is not known any more, so `before` lies
    /// further back than any source repeats. A receipt for a message of this outbox stays while the message is on record.
    async fn forget_receipts(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

/// What became of a message that was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It was written down.
    Written(MessageNumber),
    /// It had been written already: the same append repeated.
    Already(MessageNumber),
    /// Its id was there already, for another message; nothing was written.
    Conflict(MessageNumber),
}

/// What a sink gets of what was appended before it was subscribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// All that is still on record, at most [`BACKFILL_MAX`] messages.
    Kept,
    /// Nothing.
    Now,
}

/// What became of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscribed {
    /// The sink gets these topics.
    Done {
        /// How many deliveries were made of what was there before.
        backfilled: u64,
    },
    /// More than [`BACKFILL_MAX`] messages are on record: nothing was changed. Subscribe since now, or forget some before.
    TooMany,
}

/// What to take, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// The sink to deliver to.
    pub sink: SinkName,
    /// Who delivers: unique for each start of a relay.
    pub holder: Worker,
    /// How long they stay with the holder.
    pub lease: Duration,
    /// How many keys at most; a delivery without a key counts as one.
    pub keys_max: u32,
    /// How many of one key at most; at least 1.
    pub per_key_max: u32,
}

/// Deliveries of one key, or one without a key, that a holder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenKey {
    /// Fences what is said of them.
    pub epoch: Epoch,
    /// After this, another relay may take them.
    pub lease_until: Timestamp,
    /// In their order; at least one.
    pub deliveries: Vec<TakenDelivery>,
}

/// A delivery that a holder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenDelivery {
    /// The message's number.
    pub number: MessageNumber,
    /// What to deliver.
    pub message: Message,
    /// How many tries failed so far.
    pub failed: u32,
    /// How many holders were lost so far. Above zero, [`Messages::depart`] comes before it leaves.
    pub lost: u32,
}

/// Which delivery.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId {
    /// The message's number.
    pub number: MessageNumber,
    /// Where to.
    pub sink: SinkName,
}

/// A delivery that is about to leave, says its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Which.
    pub delivery: DeliveryId,
    /// Under which epoch it was taken.
    pub epoch: Epoch,
}

/// What became of a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departed {
    /// It is on record: should its holder be lost, that counts.
    Applied,
    /// The delivery is not taken under this epoch any more, or not in front. Nothing was written, and it must not leave.
    Stale,
}

/// What became of a delivery, says its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which.
    pub delivery: DeliveryId,
    /// Under which epoch it was taken.
    pub epoch: Epoch,
    /// What the core decided ([`crate::message::delivered_or_not`]).
    pub next: NextDelivery,
}

/// What became of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// It was written.
    Applied,
    /// It had been written already: the same call, repeated.
    Already,
    /// The delivery is not taken under this epoch any more, or not in front. Nothing was written.
    Stale,
}

/// A delivery that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedDelivery {
    /// Which.
    pub delivery: DeliveryId,
    /// What was to be delivered.
    pub message: Message,
    /// How many tries failed.
    pub failed: u32,
    /// How many holders were lost.
    pub lost: u32,
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub error: ErrorText,
}

/// What became of a person's order on a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySteered {
    /// Done.
    Done,
    /// Only a parked delivery can be steered; this one is in another state.
    Refused(DeliveryStateName),
    /// There is no such delivery.
    NotFound,
}

/// A message with all that is on record about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Its number.
    pub number: MessageNumber,
    /// What was appended.
    pub message: Message,
    /// Its deliveries that are on record, by sink.
    pub deliveries: Vec<Delivery>,
    /// What people ordered, in the order of time, the latest [`MESSAGE_ORDERS_MAX`].
    pub orders: Vec<DeliveryOrder>,
}

/// What a person ordered about a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryOrder {
    /// To which sink.
    pub sink: SinkName,
    /// What.
    pub verb: DeliveryVerb,
    /// When.
    pub at: Timestamp,
    /// Who and why.
    pub by: By,
}

/// What can be ordered about a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryVerb {
    /// To try again.
    Again,
    /// To go on without it.
    Skip,
}

/// How much is open for one sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkDepth {
    /// Which.
    pub sink: SinkName,
    /// Waiting, those behind others with them.
    pub waiting: u64,
    /// Taken by a relay.
    pub taken: u64,
    /// Waiting for a person; those behind them count as waiting.
    pub parked: u64,
    /// When the message with the lowest number of those that are open was appended: how far the sink is behind.
    pub oldest: Option<Timestamp>,
    /// Since when the longest parked delivery is.
    pub oldest_parked: Option<Timestamp>,
}

/// What [`Messages::forget_messages`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgottenMessages {
    /// Deliveries that were forgotten.
    pub deliveries: u64,
    /// Messages that were forgotten.
    pub messages: u64,
    /// Whether there is more to do: call again.
    pub more: bool,
}

impl Appended {
    /// The number of the message that has the id.
    #[must_use]
    pub const fn number(self) -> MessageNumber {
        match self {
            Self::Written(number) | Self::Already(number) | Self::Conflict(number) => number,
        }
    }
}

impl DeliveryVerb {
    /// Every verb.
    pub const ALL: [Self; 2] = [Self::Again, Self::Skip];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::Skip => "skip",
        }
    }

    /// The verb with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }
}
