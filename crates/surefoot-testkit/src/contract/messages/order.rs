//! One key: one order, one holder, and the next holder when that one is lost.

use std::sync::Arc;

use surefoot_core::id::Tenant;
use surefoot_core::message::{DeliveryState, Message};
use surefoot_core::port::{Marked, Messages};

use super::fixture::{
    START, append, applied, at, delivered, delivery_of, ids, ids_of, keyed, keys, many_each, mark,
    one_each, state, subscribed, take, take_one,
};

pub async fn under_one_key_the_order_is_that_of_the_append(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    // What came in later says that it is older: the order is that of the append all the same.
    let messages: Vec<_> = (0..6)
        .map(|number| Message {
            appended_at: at(10 - number),
            ..keyed("k")
        })
        .collect();
    append(&*store, &messages[..4]).await;
    append(&*store, &messages[4..]).await;
    let first = take_one(&*store, &many_each("w", 4), at(10)).await;
    assert_eq!(
        ids(std::slice::from_ref(&first)).concat(),
        ids_of(&messages[..4])
    );
    for taken in &first.deliveries {
        let marked = mark(&*store, first.epoch, taken, delivered(at(11))).await;
        assert_eq!(marked, Marked::Applied);
    }
    let second = take_one(&*store, &many_each("w", 4), at(11)).await;
    assert_eq!(
        ids(&[second]).concat(),
        ids_of(&messages[4..]),
        "order-kept"
    );
}

pub async fn a_key_has_one_holder(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    append(&*store, &keys(&["k", "k", "k"])).await;
    let key = take_one(&*store, &one_each("w"), START).await;
    assert_eq!(
        take(&*store, &one_each("v"), START).await,
        [],
        "its front is taken"
    );
    assert_eq!(
        take(&*store, &one_each("w"), at(39)).await,
        [],
        "by its own holder too"
    );
    applied(&*store, &key, delivered(at(1))).await;
    take_one(&*store, &one_each("v"), at(1)).await;
}

pub async fn tenants_have_keys_of_their_own(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let other = Message {
        tenant: Tenant::new("b").expect("a tenant"),
        ..keyed("k")
    };
    append(&*store, &[keyed("k"), other]).await;
    assert_eq!(take(&*store, &many_each("w", 9), START).await.len(), 2);
}

pub async fn what_is_appended_behind_waits_for_its_turn(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k", "k"]);
    append(&*store, &messages[..1]).await;
    let key = take_one(&*store, &many_each("w", 9), START).await;
    append(&*store, &messages[1..2]).await;
    assert_eq!(take(&*store, &many_each("v", 9), at(1)).await, []);
    applied(&*store, &key, delivered(at(1))).await;
    append(&*store, &messages[2..]).await;
    let rest = take(&*store, &many_each("v", 9), at(1)).await;
    assert_eq!(
        ids(&rest).concat(),
        ids_of(&messages[1..]),
        "no-lost-intent, order-kept"
    );
    // A line that has run empty begins anew.
    for taken in &rest[0].deliveries {
        mark(&*store, rest[0].epoch, taken, delivered(at(2))).await;
    }
    let later = keyed("k");
    append(&*store, std::slice::from_ref(&later)).await;
    let taken = take(&*store, &many_each("w", 9), at(2)).await;
    assert_eq!(ids(&taken).concat(), ids_of(&[later]));
}

pub async fn a_lost_holders_key_is_taken_by_another(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k"]);
    append(&*store, &messages).await;
    let lost = take_one(&*store, &many_each("w", 9), START).await;
    assert_eq!(
        take(&*store, &many_each("v", 9), at(39)).await,
        [],
        "its lease holds"
    );
    let next = take_one(&*store, &many_each("v", 9), at(40)).await;
    assert!(next.epoch > lost.epoch);
    assert_eq!(ids(std::slice::from_ref(&next)).concat(), ids_of(&messages));
    let marked = mark(&*store, lost.epoch, &lost.deliveries[0], delivered(at(41))).await;
    assert_eq!(marked, Marked::Stale, "no-zombie-write");
    let held = DeliveryState::Taken {
        holder: many_each("v", 9).holder,
        epoch: next.epoch,
        lease_until: at(80),
    };
    for message in &messages {
        assert_eq!(state(&*store, message).await, held);
    }
}

pub async fn those_behind_are_not_counted_as_lost(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    append(&*store, &keys(&["k", "k"])).await;
    for round in 0..3 {
        let key = take_one(&*store, &many_each("w", 9), at(40 * round)).await;
        let lost: Vec<_> = key.deliveries.iter().map(|taken| taken.lost).collect();
        assert_eq!(lost, [u32::try_from(round).expect("small"), 0]);
    }
}

pub async fn what_a_lost_holder_had_is_taken_as_far_as_asked(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k", "k"]);
    append(&*store, &messages).await;
    let lost = take_one(&*store, &many_each("w", 9), START).await;
    let next = take_one(&*store, &one_each("v"), at(40)).await;
    assert_eq!(
        ids(std::slice::from_ref(&next)).concat(),
        ids_of(&messages[..1])
    );
    applied(&*store, &next, delivered(at(41))).await;
    let marked = mark(&*store, lost.epoch, &lost.deliveries[1], delivered(at(41))).await;
    assert_eq!(
        marked,
        Marked::Stale,
        "no-zombie-write: those behind are not its own any more"
    );
    let rest = take_one(&*store, &many_each("v", 9), at(41)).await;
    assert_eq!(ids(&[rest]).concat(), ids_of(&messages[1..]));
    assert_eq!(delivery_of(&*store, &messages[1]).await.lost, 0);
}
