//! The store of messages behind a gate: the calls of a relay stop a node, those of people only wait for it.

use std::sync::Arc;

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::{Accepted, Message, Receipt, Topics};
use surefoot_core::port::{
    Appended, By, DeliveryId, DeliverySteered, Departed, Departure, ForgottenMessages, Mark,
    Marked, MessageRecord, Messages, ParkedDelivery, Since, SinkDepth, Subscribed, Take, TakenKey,
};
use surefoot_core::time::Timestamp;
use surefoot_testkit::MemoryStore;

use super::super::gate::Gate;
use super::super::log::Log;
use super::check;
use super::ledger::Ledger;

type Answer<T> = Result<T, StoreError>;

/// See the module.
pub(super) struct Gated {
    pub(super) inner: Arc<MemoryStore>,
    pub(super) gate: Gate,
    pub(super) ledger: Ledger,
    pub(super) log: Log,
}

#[async_trait]
impl Messages for Gated {
    async fn append(&self, messages: &[Message]) -> Answer<Vec<Appended>> {
        self.gate.pass(self.inner.append(messages)).await
    }

    async fn subscribe(
        &self,
        sink: &SinkName,
        topics: &Topics,
        since: Since,
        now: Timestamp,
    ) -> Answer<Subscribed> {
        let call = self.inner.subscribe(sink, topics, since, now);
        self.gate.pass(call).await
    }

    async fn unsubscribe(&self, sink: &SinkName, topics: &Topics) -> Answer<bool> {
        self.gate.pass(self.inner.unsubscribe(sink, topics)).await
    }

    async fn take(&self, take: &Take, now: Timestamp) -> Answer<Vec<TakenKey>> {
        let call = async {
            let taken = self.inner.take(take, now).await?;
            for key in &taken {
                let numbers = key.deliveries.iter().map(|taken| taken.number);
                numbers.for_each(|number| self.ledger.hold(&take.sink, number, key.epoch));
            }
            Ok(taken)
        };
        self.gate.pass(call).await
    }

    async fn depart(&self, departures: &[Departure]) -> Answer<Vec<Departed>> {
        let call = async {
            let departed = self.inner.depart(departures).await?;
            for (departure, departed) in departures.iter().zip(&departed) {
                if *departed == Departed::Applied {
                    self.ledger.depart(&departure.delivery);
                }
            }
            Ok(departed)
        };
        self.gate.pass(call).await
    }

    async fn mark(&self, marks: &[Mark]) -> Answer<Vec<Marked>> {
        let call = async {
            let marked = self.inner.mark(marks).await?;
            check::no_zombie_write(&self.log, &self.ledger, marks, &marked);
            Ok(marked)
        };
        self.gate.pass(call).await
    }

    async fn parked(
        &self,
        sink: Option<&SinkName>,
        after: Option<&DeliveryId>,
        limit: u32,
    ) -> Answer<Vec<ParkedDelivery>> {
        self.gate.open().await;
        self.inner.parked(sink, after, limit).await
    }

    async fn again(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Answer<DeliverySteered> {
        self.gate.open().await;
        self.inner.again(delivery, by, now).await
    }

    async fn skip(
        &self,
        delivery: &DeliveryId,
        by: &By,
        now: Timestamp,
    ) -> Answer<DeliverySteered> {
        self.gate.open().await;
        self.inner.skip(delivery, by, now).await
    }

    async fn message(&self, tenant: &Tenant, id: &MessageId) -> Answer<Option<MessageRecord>> {
        self.gate.open().await;
        self.inner.message(tenant, id).await
    }

    async fn message_depth(&self) -> Answer<Vec<SinkDepth>> {
        self.gate.open().await;
        self.inner.message_depth().await
    }

    async fn forget_messages(&self, before: Timestamp, limit: u32) -> Answer<ForgottenMessages> {
        self.gate.open().await;
        self.inner.forget_messages(before, limit).await
    }

    async fn accept(&self, receipt: &Receipt, now: Timestamp) -> Answer<Accepted> {
        self.gate.open().await;
        self.inner.accept(receipt, now).await
    }

    async fn forget_receipts(&self, before: Timestamp, limit: u32) -> Answer<u64> {
        self.gate.open().await;
        self.inner.forget_receipts(before, limit).await
    }
}
