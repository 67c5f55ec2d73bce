//! Who gets what, and from when on.

use std::sync::Arc;

use surefoot_core::message::{Message, Topics};
use surefoot_core::port::{Messages, Since, Subscribed, Take};

use super::fixture::{
    START, append, applied, delivered, ids, ids_of, keyed, keys, many_each, message, one_each,
    record, sink, take, take_one, topic,
};

async fn subscribe(store: &dyn Messages, topics: Topics, since: Since) -> u64 {
    match store.subscribe(&sink("s"), &topics, since, START).await {
        Ok(Subscribed::Done { backfilled }) => backfilled,
        other => panic!("it is subscribed: {other:?}"),
    }
}

pub async fn a_sink_gets_what_is_kept_in_its_order(store: Arc<dyn Messages>) {
    let before = keys(&["a", "b", "a"]);
    append(&*store, &before).await;
    let other = Message {
        topic: topic("user.left"),
        ..keyed("a")
    };
    append(&*store, std::slice::from_ref(&other)).await;
    let paid = Topics::named([topic("order.paid")]);
    assert_eq!(subscribe(&*store, paid, Since::Kept).await, 3);
    let after = keyed("a");
    append(&*store, std::slice::from_ref(&after)).await;
    let taken = take(&*store, &many_each("w", 10), START).await;
    let a = [before[0].clone(), before[2].clone(), after];
    let expected = vec![ids_of(&a), ids_of(&before[1..2])];
    assert_eq!(
        ids(&taken),
        expected,
        "order-kept: what was there comes first"
    );
    assert!(record(&*store, &other).await.deliveries.is_empty());
}

pub async fn a_sink_since_now_gets_nothing_from_before(store: Arc<dyn Messages>) {
    append(&*store, &[message()]).await;
    assert_eq!(subscribe(&*store, Topics::All, Since::Now).await, 0);
    let after = message();
    append(&*store, std::slice::from_ref(&after)).await;
    let taken = take(&*store, &one_each("w"), START).await;
    assert_eq!(ids(&taken).concat(), ids_of(&[after]));
    assert_eq!(
        subscribe(&*store, Topics::All, Since::Kept).await,
        0,
        "since when is said once: its topics are on record"
    );
}

pub async fn a_repeated_subscription_changes_nothing(store: Arc<dyn Messages>) {
    let wanted = message();
    append(&*store, std::slice::from_ref(&wanted)).await;
    let paid = || Topics::named([topic("order.paid")]);
    assert_eq!(subscribe(&*store, paid(), Since::Kept).await, 1);
    for _ in 0..3 {
        assert_eq!(subscribe(&*store, paid(), Since::Kept).await, 0);
    }
    assert_eq!(take(&*store, &one_each("w"), START).await.len(), 1);
}

pub async fn a_subscription_only_grows(store: Arc<dyn Messages>) {
    let left = Message {
        topic: topic("user.left"),
        ..message()
    };
    append(&*store, std::slice::from_ref(&left)).await;
    assert_eq!(
        subscribe(&*store, Topics::named([topic("order.paid")]), Since::Kept).await,
        0
    );
    // An older build of the same service names fewer topics; what a newer one named stays.
    assert_eq!(
        subscribe(&*store, Topics::named([topic("user.left")]), Since::Kept).await,
        1
    );
    assert_eq!(subscribe(&*store, Topics::named([]), Since::Kept).await, 0);
    let paid = message();
    append(&*store, std::slice::from_ref(&paid)).await;
    let taken = take(&*store, &one_each("w"), START).await;
    assert_eq!(ids(&taken).concat(), ids_of(&[left, paid]));
    assert_eq!(
        subscribe(&*store, Topics::All, Since::Kept).await,
        0,
        "each has a delivery"
    );
}

pub async fn what_is_kept_of_a_further_topic_joins_the_line(store: Arc<dyn Messages>) {
    let left = |key| Message {
        topic: topic("user.left"),
        ..keyed(key)
    };
    let paid = || Topics::named([topic("order.paid")]);
    assert_eq!(subscribe(&*store, paid(), Since::Now).await, 0);
    let older = [left("taken"), left("waits")];
    append(&*store, &older).await;
    let newer = keys(&["taken", "waits"]);
    append(&*store, &newer).await;
    let asked = Take {
        keys_max: 1,
        ..many_each("w", 10)
    };
    let held = take_one(&*store, &asked, START).await;
    let all = Topics::named([topic("user.left")]);
    assert_eq!(subscribe(&*store, all, Since::Kept).await, 2);
    let taken = take(&*store, &many_each("v", 10), START).await;
    let line = [newer[1].clone(), older[1].clone()];
    assert_eq!(ids(&taken), [ids_of(&line)], "a key has one holder");
    applied(&*store, &held, delivered(START)).await;
    let taken = take(&*store, &many_each("v", 10), START).await;
    assert_eq!(ids(&taken), [ids_of(&older[..1])], "no-lost-intent");
}

pub async fn an_ended_subscription_delivers_what_was_made(store: Arc<dyn Messages>) {
    let both = Topics::named([topic("order.paid"), topic("user.left")]);
    subscribe(&*store, both, Since::Now).await;
    let made = message();
    append(&*store, std::slice::from_ref(&made)).await;
    let paid = Topics::named([topic("order.paid")]);
    assert!(
        store
            .unsubscribe(&sink("s"), &paid)
            .await
            .expect("unsubscribe")
    );
    assert!(
        !store
            .unsubscribe(&sink("s"), &paid)
            .await
            .expect("unsubscribe")
    );
    let left = Message {
        topic: topic("user.left"),
        ..message()
    };
    append(&*store, &[message(), left.clone()]).await;
    assert!(
        store
            .unsubscribe(&sink("s"), &Topics::All)
            .await
            .expect("unsubscribe")
    );
    assert!(
        !store
            .unsubscribe(&sink("s"), &Topics::All)
            .await
            .expect("unsubscribe")
    );
    append(&*store, &[message()]).await;
    let depth = store.message_depth().await.expect("message_depth");
    assert_eq!(
        (depth.len(), depth[0].waiting),
        (1, 2),
        "what is open is seen"
    );
    let taken = take(&*store, &one_each("w"), START).await;
    assert_eq!(ids(&taken).concat(), ids_of(&[made, left]));
}
