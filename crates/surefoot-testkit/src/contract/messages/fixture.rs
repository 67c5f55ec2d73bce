//! What the cases share: messages, takes and marks in their plainest form, and verbs that must not err.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use surefoot_core::id::{Epoch, MessageId, OrderKey, SinkName, Tenant, Topic, Worker};
use surefoot_core::message::{
    Delivery, DeliveryState, Message, MessageNumber, NextDelivery, Proof, Topics,
};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Appended, DeliveryId, Mark, Marked, MessageRecord, Messages, Since, Subscribed, Take,
    TakenDelivery, TakenKey,
};
use surefoot_core::time::Timestamp;

pub(super) use super::super::fixture::{START, at, at_once, by};

/// How long what [`take`] takes stays with its holder: 40 seconds.
pub(super) const LEASE: Duration = Duration::from_secs(40);

pub(super) fn sink(name: &str) -> SinkName {
    SinkName::new(name).expect("a sink")
}

pub(super) fn topic(name: &str) -> Topic {
    Topic::new(name).expect("a topic")
}

pub(super) fn id(text: &str) -> MessageId {
    MessageId::new(text).expect("a message id")
}

/// A message that is like no other, on the topic `order.paid`.
pub(super) fn message() -> Message {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    Message {
        id: id(&format!("m-{number}")),
        tenant: Tenant::single(),
        topic: topic("order.paid"),
        key: None,
        payload: Payload::parse(format!("{{\"n\":{number}}}")).expect("a payload"),
        trace: None,
        appended_at: START,
    }
}

/// One of this key.
pub(super) fn keyed(key: &str) -> Message {
    Message {
        key: Some(OrderKey::new(key).expect("an order key")),
        ..message()
    }
}

pub(super) fn keys(keys: &[&str]) -> Vec<Message> {
    keys.iter().map(|key| keyed(key)).collect()
}

pub(super) async fn append(store: &dyn Messages, messages: &[Message]) -> Vec<MessageNumber> {
    let appended = store.append(messages).await.expect("append");
    assert_eq!(appended.len(), messages.len());
    appended
        .into_iter()
        .map(|appended| match appended {
            Appended::Written(number) => number,
            other => panic!("it is written: {other:?}"),
        })
        .collect()
}

/// Subscribes a sink to every topic since now.
pub(super) async fn subscribed(store: &dyn Messages, name: &str) {
    let done = store
        .subscribe(&sink(name), &Topics::All, Since::Now, START)
        .await;
    assert_eq!(done.expect("subscribe"), Subscribed::Done { backfilled: 0 });
}

/// A take for the sink `s` by this holder, of at most 100 keys and one message of each.
pub(super) fn one_each(holder: &str) -> Take {
    Take {
        sink: sink("s"),
        holder: Worker::new(holder).expect("a worker"),
        lease: LEASE,
        keys_max: 100,
        per_key_max: 1,
    }
}

/// The same with as many of each key as asked.
pub(super) fn many_each(holder: &str, per_key_max: u32) -> Take {
    Take {
        per_key_max,
        ..one_each(holder)
    }
}

pub(super) async fn take(store: &dyn Messages, take: &Take, now: Timestamp) -> Vec<TakenKey> {
    let taken = store.take(take, now).await.expect("take");
    for key in &taken {
        assert!(!key.deliveries.is_empty(), "a key that is taken has one");
        assert_eq!(key.lease_until, now.after(take.lease));
    }
    taken
}

/// What is taken when one thing must be.
pub(super) async fn take_one(store: &dyn Messages, asked: &Take, now: Timestamp) -> TakenKey {
    let mut taken = take(store, asked, now).await;
    assert_eq!(taken.len(), 1, "{taken:?}");
    taken.remove(0)
}

pub(super) fn ids(taken: &[TakenKey]) -> Vec<Vec<MessageId>> {
    taken
        .iter()
        .map(|key| {
            key.deliveries
                .iter()
                .map(|d| d.message.id.clone())
                .collect()
        })
        .collect()
}

pub(super) fn ids_of(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id.clone()).collect()
}

pub(super) fn delivery(name: &str, number: MessageNumber) -> DeliveryId {
    DeliveryId {
        number,
        sink: sink(name),
    }
}

pub(super) fn delivered(now: Timestamp) -> NextDelivery {
    NextDelivery::Delivered {
        at: now,
        proof: Proof::new("offset 17"),
    }
}

pub(super) fn waits(due_at: Timestamp, failed: u32) -> NextDelivery {
    NextDelivery::Waiting {
        due_at,
        error: Some("reset".into()),
        failed,
    }
}

pub(super) fn parks(now: Timestamp) -> NextDelivery {
    NextDelivery::Parked {
        at: now,
        error: "no such account".into(),
        failed: 1,
    }
}

pub(super) fn mark_of(epoch: Epoch, taken: &TakenDelivery, next: NextDelivery) -> Mark {
    Mark {
        delivery: delivery("s", taken.number),
        epoch,
        next,
    }
}

pub(super) async fn mark(
    store: &dyn Messages,
    epoch: Epoch,
    taken: &TakenDelivery,
    next: NextDelivery,
) -> Marked {
    let marks = [mark_of(epoch, taken, next)];
    let marked = store.mark(&marks).await.expect("mark");
    assert_eq!(marked.len(), 1);
    marked[0]
}

/// Marks the first of a key that was taken, which must apply.
pub(super) async fn applied(store: &dyn Messages, key: &TakenKey, next: NextDelivery) {
    let marked = mark(store, key.epoch, &key.deliveries[0], next).await;
    assert_eq!(marked, Marked::Applied);
}

pub(super) async fn record(store: &dyn Messages, message: &Message) -> MessageRecord {
    let record = store.message(&message.tenant, &message.id).await;
    record
        .expect("message")
        .expect("no-lost-intent: a message that was appended is on record")
}

/// The state of the delivery of a message to the sink `s`.
pub(super) async fn state(store: &dyn Messages, message: &Message) -> DeliveryState {
    delivery_of(store, message).await.state
}

/// The delivery of a message to the sink `s`.
pub(super) async fn delivery_of(store: &dyn Messages, message: &Message) -> Delivery {
    let record = record(store, message).await;
    let to = record.deliveries.into_iter().find(|d| d.sink == sink("s"));
    to.expect("no-lost-intent: a delivery is on record")
}

/// Appends messages and parks the first one of each key.
pub(super) async fn parked(store: &dyn Messages, messages: &[Message]) -> Vec<MessageNumber> {
    let numbers = append(store, messages).await;
    for key in take(store, &one_each("w"), START).await {
        applied(store, &key, parks(at(1))).await;
    }
    numbers
}
