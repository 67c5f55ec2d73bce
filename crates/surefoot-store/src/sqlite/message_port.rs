//! The port of messages, and messages and receipts in the caller's own transaction.

use async_trait::async_trait;
use rusqlite::Transaction;
use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::{Accepted, Message, Receipt, Topics};
use surefoot_core::port::{
    Appended, BATCH_MAX, By, DeliveryId, DeliverySteered, DeliveryVerb, Departed, Departure,
    ForgottenMessages, Mark, Marked, MessageRecord, Messages, ParkedDelivery, Since, SinkDepth,
    Subscribed, Take, TakenKey,
};
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::mailbox::Urgency::Ordinary;
use super::store::SqliteStore;
use super::{
    message, message_forget, message_list, message_mark, message_steer, message_take, receipt,
};

/// About how many rows a take writes.
const TAKE_WEIGHT: usize = 20;

fn bounded(items: usize) -> Result<(), StoreError> {
    if items > BATCH_MAX {
        let what = format!("a batch of {items}, at most {BATCH_MAX} are taken");
        return Err(StoreError::Refused(what.into()));
    }
    Ok(())
}

#[async_trait]
impl Messages for SqliteStore {
    async fn append(&self, messages: &[Message]) -> Result<Vec<Appended>, StoreError> {
        bounded(messages.len())?;
        let messages = messages.to_vec();
        self.call("append", messages.len() * 2, Ordinary, move |ledger| {
            append_all(ledger, &messages)
        })
        .await
    }

    async fn subscribe(
        &self,
        sink: &SinkName,
        topics: &Topics,
        since: Since,
        _now: Timestamp,
    ) -> Result<Subscribed, StoreError> {
        let (sink, topics) = (sink.clone(), topics.clone());
        self.call("subscribe", 1, Ordinary, move |ledger| {
            message::subscribe(ledger, &sink, &topics, since)
        })
        .await
    }

    async fn unsubscribe(&self, sink: &SinkName, topics: &Topics) -> Result<bool, StoreError> {
        let (sink, topics) = (sink.clone(), topics.clone());
        self.call("unsubscribe", 1, Ordinary, move |ledger| {
            message::unsubscribe(ledger, &sink, &topics)
        })
        .await
    }

    async fn take(&self, take: &Take, now: Timestamp) -> Result<Vec<TakenKey>, StoreError> {
        // Most looks find nothing; those need no turn of the writer.
        let (asked, sink) = (take.clone(), take.sink.clone());
        let is_any = self
            .read("take", move |view| message_take::is_any(view, &sink, now))
            .await?;
        if !is_any {
            return Ok(Vec::new());
        }
        self.call("take", TAKE_WEIGHT, Ordinary, move |ledger| {
            message_take::take(ledger, &asked, now)
        })
        .await
    }

    async fn depart(&self, departures: &[Departure]) -> Result<Vec<Departed>, StoreError> {
        bounded(departures.len())?;
        let departures = departures.to_vec();
        self.call("depart", departures.len(), Ordinary, move |ledger| {
            departures
                .iter()
                .map(|departure| message_take::depart(ledger, departure))
                .collect()
        })
        .await
    }

    async fn mark(&self, marks: &[Mark]) -> Result<Vec<Marked>, StoreError> {
        bounded(marks.len())?;
        let marks = marks.to_vec();
        self.call("mark", marks.len(), Ordinary, move |ledger| {
            marks
                .iter()
                .map(|mark| message_mark::mark(ledger, mark))
                .collect()
        })
        .await
    }

    async fn parked(
        &self,
        sink: Option<&SinkName>,
        after: Option<&DeliveryId>,
        limit: u32,
    ) -> Result<Vec<ParkedDelivery>, StoreError> {
        let (sink, after) = (sink.cloned(), after.cloned());
        self.read("parked", move |view| {
            message_list::parked(view, sink.as_ref(), after.as_ref(), limit)
        })
        .await
    }

    async fn again(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError> {
        self.steer("again", delivery, DeliveryVerb::Again, by, now)
            .await
    }

    async fn skip(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError> {
        self.steer("skip", delivery, DeliveryVerb::Skip, by, now)
            .await
    }

    async fn message(
        &self,
        tenant: &Tenant,
        id: &MessageId,
    ) -> Result<Option<MessageRecord>, StoreError> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.read("message", move |view| {
            message_list::record(view, &tenant, &id)
        })
        .await
    }

    async fn message_depth(&self) -> Result<Vec<SinkDepth>, StoreError> {
        self.read("message_depth", message_list::depth).await
    }

    async fn forget_messages(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<ForgottenMessages, StoreError> {
        self.call("forget_messages", limit as usize, Ordinary, move |ledger| {
            message_forget::forget(ledger, before, limit)
        })
        .await
    }

    async fn accept(&self, receipt: &Receipt, now: Timestamp) -> Result<Accepted, StoreError> {
        let receipt = receipt.clone();
        self.call("accept", 1, Ordinary, move |ledger| {
            receipt::accept(ledger, &receipt, now)
        })
        .await
    }

    async fn forget_receipts(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.call("forget_receipts", limit as usize, Ordinary, move |ledger| {
            receipt::forget(ledger, before, limit)
        })
        .await
    }
}

fn append_all(ledger: &Ledger<'_>, messages: &[Message]) -> Result<Vec<Appended>, StoreError> {
    messages
        .iter()
        .map(|message| message::append(ledger, message))
        .collect()
}

impl SqliteStore {
    async fn steer(
        &self,
        name: &'static str,
        delivery: &DeliveryId,
        verb: DeliveryVerb,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError> {
        let (delivery, by) = (delivery.clone(), by.clone());
        self.call(name, 1, Ordinary, move |ledger| {
            message_steer::steer(ledger, &delivery, verb, &by, now)
        })
        .await
    }

    /// Writes messages down inside the caller's own transaction, by the rules of [`Messages::append`]: the messages and the
    /// caller's rows are there together or not at all. Begin the transaction with `BEGIN IMMEDIATE`
    /// ([`rusqlite::TransactionBehavior::Immediate`]). A relay in this process finds them with its next look; wake it after
    /// the commit where that is too late.
    ///
    /// # Errors
    /// Those of the statement, after which the caller should roll back; [`StoreError::Refused`] for more than [`BATCH_MAX`].
    pub fn append_in(
        tx: &Transaction<'_>,
        messages: &[Message],
    ) -> Result<Vec<Appended>, StoreError> {
        bounded(messages.len())?;
        append_all(&Ledger::of(tx), messages)
    }

    /// Accepts a receipt inside the caller's own transaction, by the rules of [`Messages::accept`]: the receipt and what the
    /// consumer made of the message are there together or not at all. On [`Accepted::Duplicate`] write nothing more, and tell
    /// the source that all is well. Begin the transaction with `BEGIN IMMEDIATE`.
    ///
    /// # Errors
    /// Those of the statement, after which the caller should roll back.
    pub fn accept_in(
        tx: &Transaction<'_>,
        receipt: &Receipt,
        now: Timestamp,
    ) -> Result<Accepted, StoreError> {
        receipt::accept(&Ledger::of(tx), receipt, now)
    }
}
