//! What leaves, and what never does.

use std::sync::Arc;

use surefoot_core::message::{DeliveryStateName, Message};
use surefoot_core::port::{Appended, ForgottenMessages, Mark, Messages, Take};
use surefoot_core::time::Timestamp;

use super::fixture::{
    START, append, applied, at, by, delivered, delivery, keys, message, one_each, parked, record,
    sink, state, subscribed, take, take_one,
};

async fn forget(store: &dyn Messages, before: Timestamp, limit: u32) -> (u64, u64, bool) {
    let forgotten = store.forget_messages(before, limit).await;
    let ForgottenMessages {
        deliveries,
        messages,
        more,
    } = forgotten.expect("forget_messages");
    (deliveries, messages, more)
}

async fn is_here(store: &dyn Messages, message: &Message) -> bool {
    let record = store.message(&message.tenant, &message.id).await;
    record.expect("message").is_some()
}

pub async fn what_is_open_or_parked_is_never_forgotten(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let held = keys(&["bad", "bad"]);
    parked(&*store, &held).await;
    let (taken, waiting) = (message(), message());
    append(&*store, std::slice::from_ref(&taken)).await;
    take_one(&*store, &one_each("w"), START).await;
    append(&*store, std::slice::from_ref(&waiting)).await;
    for before in [at(1_000_000), Timestamp::MAX] {
        assert_eq!(
            forget(&*store, before, 99).await,
            (0, 0, false),
            "no-lost-intent"
        );
    }
    let expected = [
        (&held[0], DeliveryStateName::Parked),
        (&held[1], DeliveryStateName::Waiting),
        (&taken, DeliveryStateName::Taken),
        (&waiting, DeliveryStateName::Waiting),
    ];
    for (message, name) in expected {
        assert_eq!(state(&*store, message).await.name(), name);
    }
}

pub async fn what_was_delivered_or_skipped_is_forgotten(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let skipped = message();
    let number = parked(&*store, std::slice::from_ref(&skipped)).await[0];
    let order = store
        .skip(&delivery("s", number), &by("a test"), at(20))
        .await;
    order.expect("skip");
    let done = message();
    append(&*store, std::slice::from_ref(&done)).await;
    let key = take_one(&*store, &one_each("w"), at(1)).await;
    applied(&*store, &key, delivered(at(10))).await;
    assert_eq!(forget(&*store, at(9), 99).await, (0, 0, false));
    assert_eq!(forget(&*store, at(10), 99).await, (1, 1, false));
    assert!(!is_here(&*store, &done).await && is_here(&*store, &skipped).await);
    assert_eq!(forget(&*store, at(20), 99).await, (1, 1, false));
    assert!(!is_here(&*store, &skipped).await);
}

pub async fn a_message_without_a_sink_is_forgotten(store: Arc<dyn Messages>) {
    let unheard = Message {
        appended_at: at(5),
        ..message()
    };
    append(&*store, std::slice::from_ref(&unheard)).await;
    assert_eq!(forget(&*store, at(4), 99).await, (0, 0, false));
    assert!(is_here(&*store, &unheard).await);
    assert_eq!(forget(&*store, at(5), 99).await, (0, 1, false));
    assert!(!is_here(&*store, &unheard).await);
}

pub async fn a_message_stays_while_one_delivery_does(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    subscribed(&*store, "t").await;
    let wanted = message();
    let number = append(&*store, std::slice::from_ref(&wanted)).await[0];
    let key = take_one(&*store, &one_each("w"), START).await;
    applied(&*store, &key, delivered(at(1))).await;
    assert_eq!(forget(&*store, at(99), 99).await, (1, 0, false));
    let left = record(&*store, &wanted).await.deliveries;
    assert_eq!((left.len(), &left[0].sink), (1, &sink("t")));
    let other = Take {
        sink: sink("t"),
        ..one_each("w")
    };
    let key = take_one(&*store, &other, START).await;
    let mark = Mark {
        delivery: delivery("t", number),
        epoch: key.epoch,
        next: delivered(at(2)),
    };
    store.mark(&[mark]).await.expect("mark");
    assert_eq!(forget(&*store, at(99), 99).await, (1, 1, false));
    assert!(!is_here(&*store, &wanted).await);
}

pub async fn it_goes_in_steps_the_oldest_first(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages: Vec<_> = (0..7).map(|_| message()).collect();
    append(&*store, &messages).await;
    let taken = take(&*store, &one_each("w"), START).await;
    for (key, seconds) in taken.iter().zip([7, 6, 5, 4, 3, 2, 1]) {
        applied(&*store, key, delivered(at(seconds))).await;
    }
    assert_eq!(forget(&*store, at(99), 3).await, (3, 3, true));
    for (message, stays) in messages
        .iter()
        .zip([true, true, true, true, false, false, false])
    {
        assert_eq!(is_here(&*store, message).await, stays);
    }
    assert_eq!(forget(&*store, at(99), 3).await, (3, 3, true));
    assert_eq!(forget(&*store, at(99), 3).await, (1, 1, false));
    assert_eq!(forget(&*store, at(99), 3).await, (0, 0, false));
}

pub async fn a_forgotten_id_is_free(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let wanted = message();
    let number = append(&*store, std::slice::from_ref(&wanted)).await[0];
    let key = take_one(&*store, &one_each("w"), START).await;
    applied(&*store, &key, delivered(at(1))).await;
    let known = store.append(std::slice::from_ref(&wanted)).await;
    assert_eq!(known.expect("append"), [Appended::Already(number)]);
    assert_eq!(take(&*store, &one_each("w"), at(2)).await, []);
    forget(&*store, at(99), 99).await;
    let again = append(&*store, std::slice::from_ref(&wanted)).await[0];
    assert!(again > number, "a number never comes back");
}
