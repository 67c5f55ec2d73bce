//! The port of messages, and messages and receipts in the caller's own transaction.

use async_trait::async_trait;
use sqlx::PgConnection;
use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::{Accepted, Message, Receipt, Topics};
use surefoot_core::port::{
    Appended, By, DeliveryId, DeliverySteered, DeliveryVerb, Departed, Departure,
    ForgottenMessages, Mark, Marked, MessageRecord, Messages, ParkedDelivery, Since, SinkDepth,
    Subscribed, Take, TakenKey,
};
use surefoot_core::time::Timestamp;

use super::store::PostgresStore;
use super::within::Within;
use super::{message, message_deliver, message_list, receipt};

#[async_trait]
impl Messages for PostgresStore {
    async fn append(&self, messages: &[Message]) -> Result<Vec<Appended>, StoreError> {
        message::append(self.caller(), messages).await
    }

    async fn subscribe(
        &self,
        sink: &SinkName,
        topics: &Topics,
        since: Since,
        _now: Timestamp,
    ) -> Result<Subscribed, StoreError> {
        message::subscribe(self.caller(), sink, topics, since).await
    }

    async fn unsubscribe(&self, sink: &SinkName, topics: &Topics) -> Result<bool, StoreError> {
        message::unsubscribe(self.caller(), sink, topics).await
    }

    async fn take(&self, take: &Take, now: Timestamp) -> Result<Vec<TakenKey>, StoreError> {
        message_deliver::take(self.caller(), take, now).await
    }

    async fn depart(&self, departures: &[Departure]) -> Result<Vec<Departed>, StoreError> {
        message_deliver::depart(self.caller(), departures).await
    }

    async fn mark(&self, marks: &[Mark]) -> Result<Vec<Marked>, StoreError> {
        message_deliver::mark(self.caller(), marks).await
    }

    async fn parked(
        &self,
        sink: Option<&SinkName>,
        after: Option<&DeliveryId>,
        limit: u32,
    ) -> Result<Vec<ParkedDelivery>, StoreError> {
        message_list::parked(self.caller(), sink, after, limit).await
    }

    async fn again(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError> {
        message_deliver::steer(self.caller(), delivery, DeliveryVerb::Again, by, now).await
    }

    async fn skip(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError> {
        message_deliver::steer(self.caller(), delivery, DeliveryVerb::Skip, by, now).await
    }

    async fn message(
        &self,
        tenant: &Tenant,
        id: &MessageId,
    ) -> Result<Option<MessageRecord>, StoreError> {
        message_list::record(self.caller(), tenant, id).await
    }

    async fn message_depth(&self) -> Result<Vec<SinkDepth>, StoreError> {
        message_list::depth(self.caller()).await
    }

    async fn forget_messages(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<ForgottenMessages, StoreError> {
        message_list::forget(self.caller(), before, limit).await
    }

    async fn accept(&self, receipt: &Receipt, now: Timestamp) -> Result<Accepted, StoreError> {
        receipt::accept(self.caller(), Within::Store, receipt, now).await
    }

    async fn forget_receipts(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        receipt::forget(self.caller(), before, limit).await
    }
}

impl PostgresStore {
    /// Writes messages down inside the caller's own transaction on `connection`, by the rules of [`Messages::append`]: the
    /// messages and the caller's rows are there together or not at all. Waits for another open transaction that appended
    /// under one of the keys, so that the order under a key is that of the commits: append late in a transaction. A
    /// relay finds the messages with its next look; wake it after the commit where that is too late.
    ///
    /// # Errors
    /// Those of the statement, after which PostgreSQL takes nothing in this transaction but its rollback. Under an isolation
    /// stricter than PostgreSQL's default, a subscription that was changed meanwhile is a serialization failure
    /// ([`StoreError::Unavailable`]): run the transaction again.
    pub async fn append_in(
        &self,
        connection: &mut PgConnection,
        messages: &[Message],
    ) -> Result<Vec<Appended>, StoreError> {
        message::append_in(self.caller(), connection, messages).await
    }

    /// Accepts a receipt inside the caller's own transaction on `connection`, by the rules of [`Messages::accept`]: the
    /// receipt and what the consumer made of the message are there together or not at all. On
    /// [`Accepted::Duplicate`] write nothing more, and tell the source that all is well. Waits for another open transaction
    /// that accepts the same receipt; if that one rolls back, this one is the first.
    ///
    /// # Errors
    /// Those of the statement, as for [`append_in`](Self::append_in).
    pub async fn accept_in(
        &self,
        connection: &mut PgConnection,
        receipt: &Receipt,
        now: Timestamp,
    ) -> Result<Accepted, StoreError> {
        receipt::accept(self.caller(), Within::Caller(connection), receipt, now).await
    }
}
