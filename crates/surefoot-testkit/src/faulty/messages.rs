//! [`FaultyMessages`]: the port of messages, verb by verb, each carried through the plan of faults.

use std::sync::Arc;

use async_trait::async_trait;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::{Accepted, Message, Receipt, Topics};
use surefoot_core::port::{
    Appended, By, DeliveryId, DeliverySteered, Departed, Departure, ForgottenMessages, Mark,
    Marked, MessageRecord, Messages, ParkedDelivery, Since, SinkDepth, Subscribed, Take, TakenKey,
};
use surefoot_core::time::Timestamp;

use super::store::Answer;
use super::{FaultyStore, Verb};

/// Messages that fail before or after a verb takes effect, or are slow, by the plan of a [`FaultyStore`]: scripts, chances
/// and counts are set and read there.
#[derive(Clone)]
pub struct FaultyMessages {
    faults: FaultyStore,
    inner: Arc<dyn Messages>,
}

impl FaultyStore {
    /// Messages that go wrong by this store's plan.
    #[must_use]
    pub fn messages(&self, inner: Arc<dyn Messages>) -> FaultyMessages {
        FaultyMessages {
            faults: self.clone(),
            inner,
        }
    }
}

impl std::fmt::Debug for FaultyMessages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyMessages")
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Messages for FaultyMessages {
    async fn append(&self, messages: &[Message]) -> Answer<Vec<Appended>> {
        let call = self.inner.append(messages);
        self.faults.carry(Verb::Append, call).await
    }

    async fn subscribe(
        &self,
        sink: &SinkName,
        topics: &Topics,
        since: Since,
        now: Timestamp,
    ) -> Answer<Subscribed> {
        let call = self.inner.subscribe(sink, topics, since, now);
        self.faults.carry(Verb::Subscribe, call).await
    }

    async fn unsubscribe(&self, sink: &SinkName, topics: &Topics) -> Answer<bool> {
        let call = self.inner.unsubscribe(sink, topics);
        self.faults.carry(Verb::Unsubscribe, call).await
    }

    async fn take(&self, take: &Take, now: Timestamp) -> Answer<Vec<TakenKey>> {
        let call = self.inner.take(take, now);
        self.faults.carry(Verb::Take, call).await
    }

    async fn depart(&self, departures: &[Departure]) -> Answer<Vec<Departed>> {
        let call = self.inner.depart(departures);
        self.faults.carry(Verb::Depart, call).await
    }

    async fn mark(&self, marks: &[Mark]) -> Answer<Vec<Marked>> {
        let call = self.inner.mark(marks);
        self.faults.carry(Verb::Mark, call).await
    }

    async fn parked(
        &self,
        sink: Option<&SinkName>,
        after: Option<&DeliveryId>,
        limit: u32,
    ) -> Answer<Vec<ParkedDelivery>> {
        let call = self.inner.parked(sink, after, limit);
        self.faults.carry(Verb::Parked, call).await
    }

    async fn again(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Answer<DeliverySteered> {
        let call = self.inner.again(delivery, by, now);
        self.faults.carry(Verb::Again, call).await
    }

    async fn skip(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Answer<DeliverySteered> {
        let call = self.inner.skip(delivery, by, now);
        self.faults.carry(Verb::Skip, call).await
    }

    async fn message(&self, tenant: &Tenant, id: &MessageId) -> Answer<Option<MessageRecord>> {
        let call = self.inner.message(tenant, id);
        self.faults.carry(Verb::Message, call).await
    }

    async fn message_depth(&self) -> Answer<Vec<SinkDepth>> {
        let call = self.inner.message_depth();
        self.faults.carry(Verb::MessageDepth, call).await
    }

    async fn forget_messages(&self, before: Timestamp, limit: u32) -> Answer<ForgottenMessages> {
        let call = self.inner.forget_messages(before, limit);
        self.faults.carry(Verb::ForgetMessages, call).await
    }

    async fn accept(&self, receipt: &Receipt, now: Timestamp) -> Answer<Accepted> {
        let call = self.inner.accept(receipt, now);
        self.faults.carry(Verb::Accept, call).await
    }

    async fn forget_receipts(&self, before: Timestamp, limit: u32) -> Answer<u64> {
        let call = self.inner.forget_receipts(before, limit);
        self.faults.carry(Verb::ForgetReceipts, call).await
    }
}
