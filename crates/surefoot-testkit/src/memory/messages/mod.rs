//! Messages, each verb one lock of the table. `table` holds them and says who is in front; `deliver` takes and marks;
//! `upkeep` lists, steers and forgets.

mod deliver;
mod table;
mod upkeep;

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::{Accepted, Message, Receipt, Topics};
use surefoot_core::port::{
    Appended, BATCH_MAX, By, DeliveryId, DeliverySteered, DeliveryVerb, Departed, Departure,
    ForgottenMessages, Mark, Marked, MessageRecord, Messages, PAGE_MAX, ParkedDelivery, Since,
    SinkDepth, Subscribed, Take, TakenKey,
};
use surefoot_core::time::Timestamp;

use super::{MemoryStore, bounded};
pub(super) use table::MessageTable;

#[async_trait]
impl Messages for MemoryStore {
    async fn append(&self, messages: &[Message]) -> Result<Vec<Appended>, StoreError> {
        bounded(messages.len())?;
        let mut table = self.table();
        Ok(messages
            .iter()
            .map(|message| table.messages.append(message))
            .collect())
    }

    async fn subscribe(
        &self,
        sink: &SinkName,
        topics: &Topics,
        since: Since,
        _now: Timestamp,
    ) -> Result<Subscribed, StoreError> {
        Ok(self.table().messages.subscribe(sink, topics, since))
    }

    async fn unsubscribe(&self, sink: &SinkName, topics: &Topics) -> Result<bool, StoreError> {
        Ok(self.table().messages.unsubscribe(sink, topics))
    }

    async fn take(&self, take: &Take, now: Timestamp) -> Result<Vec<TakenKey>, StoreError> {
        Ok(self.table().messages.take(take, now))
    }

    async fn depart(&self, departures: &[Departure]) -> Result<Vec<Departed>, StoreError> {
        bounded(departures.len())?;
        let mut table = self.table();
        Ok(departures
            .iter()
            .map(|departure| table.messages.depart(departure))
            .collect())
    }

    async fn mark(&self, marks: &[Mark]) -> Result<Vec<Marked>, StoreError> {
        bounded(marks.len())?;
        let mut table = self.table();
        Ok(marks.iter().map(|mark| table.messages.mark(mark)).collect())
    }

    async fn parked(
        &self,
        sink: Option<&SinkName>,
        after: Option<&DeliveryId>,
        limit: u32,
    ) -> Result<Vec<ParkedDelivery>, StoreError> {
        let limit = limit.min(PAGE_MAX) as usize;
        Ok(self.table().messages.parked(sink, after, limit))
    }

    async fn again(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError> {
        let verb = DeliveryVerb::Again;
        Ok(self.table().messages.steer(delivery, verb, by, now))
    }

    async fn skip(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Result<DeliverySteered, StoreError> {
        let verb = DeliveryVerb::Skip;
        Ok(self.table().messages.steer(delivery, verb, by, now))
    }

    async fn message(
        &self,
        tenant: &Tenant,
        id: &MessageId,
    ) -> Result<Option<MessageRecord>, StoreError> {
        Ok(self.table().messages.record(tenant, id))
    }

    async fn message_depth(&self) -> Result<Vec<SinkDepth>, StoreError> {
        Ok(self.table().messages.depth(PAGE_MAX as usize))
    }

    async fn forget_messages(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<ForgottenMessages, StoreError> {
        let limit = (limit as usize).min(BATCH_MAX);
        Ok(self.table().messages.forget(before, limit))
    }

    async fn accept(&self, receipt: &Receipt, now: Timestamp) -> Result<Accepted, StoreError> {
        Ok(self.table().messages.accept(receipt, now))
    }

    async fn forget_receipts(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let limit = (limit as usize).min(BATCH_MAX);
        Ok(self.table().messages.forget_receipts(before, limit))
    }
}
