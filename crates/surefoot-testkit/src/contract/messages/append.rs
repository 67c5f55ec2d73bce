//! Writing messages down.

use std::sync::Arc;

use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, OrderKey, Tenant, Topic};
use surefoot_core::job::TraceContext;
use surefoot_core::message::{DeliveryState, Message, Topics};
use surefoot_core::payload::{PAYLOAD_BYTES_MAX, Payload};
use surefoot_core::port::{Appended, BATCH_MAX, Messages, Since};

use super::fixture::{
    START, append, at, ids, ids_of, keyed, many_each, message, one_each, record, sink, subscribed,
    take, topic,
};

pub async fn a_message_goes_to_each_sink_of_its_topic(store: Arc<dyn Messages>) {
    let paid = Topics::named([topic("order.paid"), topic("order.sent")]);
    for (name, topics) in [
        ("all", Topics::All),
        ("paid", paid),
        ("none", Topics::named([])),
    ] {
        let done = store
            .subscribe(&sink(name), &topics, Since::Now, START)
            .await;
        done.expect("subscribe");
    }
    let other = Message {
        topic: topic("user.left"),
        ..message()
    };
    let messages = [message(), other];
    append(&*store, &messages).await;
    for (message, sinks) in messages.iter().zip([vec!["all", "paid"], vec!["all"]]) {
        let record = record(&*store, message).await;
        assert_eq!(record.message, *message);
        let found: Vec<_> = record.deliveries.iter().map(|d| d.sink.as_str()).collect();
        assert_eq!(found, sinks);
        for delivery in record.deliveries {
            let waiting = DeliveryState::Waiting {
                due_at: START,
                error: None,
            };
            assert_eq!(
                (delivery.state, delivery.failed, delivery.lost),
                (waiting, 0, 0)
            );
        }
    }
}

pub async fn a_repeated_append_is_one_message(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let wanted = message();
    let number = append(&*store, std::slice::from_ref(&wanted)).await[0];
    let later = Message {
        appended_at: at(9),
        ..wanted.clone()
    };
    let again = store.append(&[later.clone(), later]).await.expect("append");
    assert_eq!(
        again,
        [Appended::Already(number), Appended::Already(number)]
    );
    let twice = message();
    let both = store.append(&[twice.clone(), twice]).await.expect("append");
    assert_eq!(both[1], Appended::Already(both[0].number()));
    let taken = take(&*store, &one_each("w"), START).await;
    assert_eq!(taken.len(), 2, "no-double-effect: one delivery of each");
}

pub async fn another_message_under_an_id_is_a_conflict(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let first = message();
    let number = append(&*store, std::slice::from_ref(&first)).await[0];
    let other = Message {
        payload: Payload::parse("[1]").expect("a payload"),
        ..first.clone()
    };
    let fine = message();
    let answers = store.append(&[other, fine.clone()]).await.expect("append");
    assert_eq!(answers[0], Appended::Conflict(number));
    assert!(
        matches!(answers[1], Appended::Written(_)),
        "the others are written"
    );
    assert_eq!(record(&*store, &first).await.message, first);
    let taken = take(&*store, &one_each("w"), START).await;
    assert_eq!(ids(&taken).concat(), ids_of(&[first, fine]));
}

pub async fn tenants_have_ids_of_their_own(store: Arc<dyn Messages>) {
    let first = message();
    let other = Message {
        tenant: Tenant::new("b").expect("a tenant"),
        payload: Payload::null(),
        ..first.clone()
    };
    append(&*store, &[first.clone(), other.clone()]).await;
    assert_eq!(record(&*store, &first).await.message, first);
    assert_eq!(record(&*store, &other).await.message, other);
}

pub async fn what_was_appended_reads_back(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let longest = Message {
        id: MessageId::new("\u{1ea1}".repeat(85)).expect("an id"),
        tenant: Tenant::new("t".repeat(128)).expect("a tenant"),
        topic: Topic::new("x".repeat(128)).expect("a topic"),
        key: Some(OrderKey::new("\u{1f600}".repeat(63)).expect("a key")),
        payload: Payload::parse(format!("\"{}\"", "p".repeat(PAYLOAD_BYTES_MAX - 2)))
            .expect("a payload"),
        trace: TraceContext::parse(trace),
        appended_at: at(3),
    };
    let odd = Message {
        payload: Payload::parse(r#"{ "b":1.0, "a":"\u0000\ud800", "n":9007199254740993 }"#)
            .expect("a payload"),
        ..keyed("it's; a \"key\" % _ \\")
    };
    append(&*store, &[longest.clone(), odd.clone()]).await;
    let taken = take(&*store, &many_each("w", 10), at(3)).await;
    let taken: Vec<_> = taken.into_iter().flat_map(|key| key.deliveries).collect();
    for wanted in [longest, odd] {
        assert_eq!(record(&*store, &wanted).await.message, wanted);
        assert!(taken.iter().any(|taken| taken.message == wanted));
    }
}

pub async fn a_batch_keeps_its_order_and_is_bounded(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    assert_eq!(store.append(&[]).await.expect("append"), []);
    let messages: Vec<_> = (0..BATCH_MAX).map(|_| keyed("k")).collect();
    let numbers = append(&*store, &messages).await;
    assert!(numbers.is_sorted());
    let too_many: Vec<_> = (0..=BATCH_MAX).map(|_| message()).collect();
    let refused = store.append(&too_many).await;
    assert!(
        matches!(refused, Err(StoreError::Refused(_))),
        "{refused:?}"
    );
    let taken = take(&*store, &many_each("w", 100), START).await;
    assert_eq!(ids(&taken).concat(), ids_of(&messages[..100]), "order-kept");
}
