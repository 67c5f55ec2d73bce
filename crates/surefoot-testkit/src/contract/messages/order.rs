//! One key: one order, one holder, and the next holder when that one is lost.

use std::sync::Arc;

use surefoot_core::id::Tenant;
use surefoot_core::message::{DeliveryState, Message};
use surefoot_core::port::{Departed, Departure, Marked, Messages, TakenDelivery, TakenKey};

use super::fixture::{
    START, append, applied, at, delivered, delivery, delivery_of, ids, ids_of, keyed, keys,
    many_each, mark, one_each, state, subscribed, take, take_one,
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
        assert_eq!(depart(&*store, &key).await, [Departed::Applied]);
    }
}

/// The answer to a take may be lost time and again, and no sink has seen the message.
pub async fn a_holder_that_never_said_that_it_leaves_is_counted_once(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    append(&*store, &[keyed("k")]).await;
    let lost = |key: &TakenKey| key.deliveries[0].lost;
    for (round, expected) in [0, 1, 1, 1].into_iter().enumerate() {
        let now = at(40 * u64::try_from(round).expect("small"));
        let key = take_one(&*store, &many_each("w", 9), now).await;
        assert_eq!(lost(&key), expected);
    }
    let left = take_one(&*store, &many_each("w", 9), at(160)).await;
    assert_eq!(depart(&*store, &left).await, [Departed::Applied]);
    assert_eq!(depart(&*store, &left).await, [Departed::Applied], "again");
    let next = take_one(&*store, &many_each("v", 9), at(200)).await;
    assert_eq!(lost(&next), 2);
    let late = depart(&*store, &left).await;
    assert_eq!(late, [Departed::Stale], "no-zombie-write");
    let after = take_one(&*store, &many_each("v", 9), at(240)).await;
    assert_eq!(
        lost(&after),
        2,
        "what an earlier holder said is of its own epoch"
    );
}

pub async fn only_who_has_the_front_departs(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    assert_eq!(store.depart(&[]).await.expect("depart"), []);
    append(&*store, &keys(&["k", "k"])).await;
    let lost = take_one(&*store, &many_each("w", 9), START).await;
    let held = take_one(&*store, &many_each("v", 9), at(40)).await;
    let all: Vec<_> = [&held, &lost]
        .iter()
        .flat_map(|key| key.deliveries.iter().map(|taken| departure(key, taken)))
        .collect();
    let [front, behind, late, late_behind] = [0, 1, 2, 3].map(|place| all[place].clone());
    let departed = store.depart(&[late, behind, front, late_behind]).await;
    let (applied, stale) = (Departed::Applied, Departed::Stale);
    assert_eq!(departed.expect("depart"), [stale, stale, applied, stale]);
    applied_all(&*store, &held).await;
    assert_eq!(depart(&*store, &held).await, [stale], "it has ended");
}

/// Marks all of a key in their order.
async fn applied_all(store: &dyn Messages, key: &TakenKey) {
    for taken in &key.deliveries {
        let marked = mark(store, key.epoch, taken, delivered(at(41))).await;
        assert_eq!(marked, Marked::Applied);
    }
}

fn departure(key: &TakenKey, taken: &TakenDelivery) -> Departure {
    Departure {
        delivery: delivery("s", taken.number),
        epoch: key.epoch,
    }
}

/// Says that the front of a key leaves.
async fn depart(store: &dyn Messages, key: &TakenKey) -> Vec<Departed> {
    let departures = [departure(key, &key.deliveries[0])];
    store.depart(&departures).await.expect("depart")
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
