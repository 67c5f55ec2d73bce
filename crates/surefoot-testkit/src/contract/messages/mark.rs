//! Writing down what became of a delivery.

use std::sync::Arc;

use surefoot_core::id::Epoch;
use surefoot_core::message::{DeliveryState, NextDelivery, Proof, given_back};
use surefoot_core::port::{Mark, Marked, Messages};

use super::fixture::{
    START, append, applied, at, delivered, delivery_of, ids, ids_of, keys, many_each, mark,
    mark_of, message, one_each, parks, state, subscribed, take, take_one, waits,
};

pub async fn what_was_delivered_has_its_proof(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let wanted = message();
    append(&*store, std::slice::from_ref(&wanted)).await;
    let key = take_one(&*store, &one_each("w"), START).await;
    let proof = Proof::new("partition 3, \u{1ea1} offset 17\n");
    let next = NextDelivery::Delivered {
        at: at(2),
        proof: proof.clone(),
    };
    applied(&*store, &key, next).await;
    let done = DeliveryState::Delivered { at: at(2), proof };
    assert_eq!(state(&*store, &wanted).await, done);
    assert_eq!(
        take(&*store, &one_each("w"), at(999)).await,
        [],
        "no-double-effect"
    );
}

pub async fn a_stale_epoch_changes_nothing(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k"]);
    append(&*store, &messages).await;
    let lost = take_one(&*store, &many_each("w", 9), START).await;
    let held = take_one(&*store, &many_each("v", 9), at(40)).await;
    let before = [
        delivery_of(&*store, &messages[0]).await,
        delivery_of(&*store, &messages[1]).await,
    ];
    for epoch in [lost.epoch, Epoch::NEVER, held.epoch.next()] {
        for next in [delivered(at(41)), waits(at(50), 7), parks(at(41))] {
            let marked = mark(&*store, epoch, &held.deliveries[0], next).await;
            assert_eq!(marked, Marked::Stale);
        }
    }
    for (message, before) in messages.iter().zip(before) {
        assert_eq!(
            delivery_of(&*store, message).await,
            before,
            "no-zombie-write"
        );
    }
    applied(&*store, &held, delivered(at(42))).await;
    let late = mark(&*store, lost.epoch, &lost.deliveries[0], parks(at(43))).await;
    assert_eq!(late, Marked::Stale);
    assert!(matches!(
        state(&*store, &messages[0]).await,
        DeliveryState::Delivered { .. }
    ));
}

pub async fn a_repeated_mark_is_already(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    for next in [delivered(at(1)), waits(at(50), 1), parks(at(1))] {
        let wanted = message();
        append(&*store, std::slice::from_ref(&wanted)).await;
        let key = take_one(&*store, &one_each("w"), at(1)).await;
        applied(&*store, &key, next.clone()).await;
        let before = delivery_of(&*store, &wanted).await;
        let again = mark(&*store, key.epoch, &key.deliveries[0], next.clone()).await;
        assert_eq!(again, Marked::Already, "{next:?}");
        assert_eq!(delivery_of(&*store, &wanted).await, before);
    }
}

pub async fn a_failed_try_waits_and_gives_back_those_behind(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k", "k"]);
    append(&*store, &messages).await;
    let key = take_one(&*store, &many_each("w", 9), START).await;
    applied(&*store, &key, delivered(at(1))).await;
    let failed = mark(&*store, key.epoch, &key.deliveries[1], waits(at(20), 1)).await;
    assert_eq!(failed, Marked::Applied);
    let behind = mark(&*store, key.epoch, &key.deliveries[2], delivered(at(2))).await;
    assert_eq!(
        behind,
        Marked::Stale,
        "order-kept: it goes after the one that failed"
    );
    let waiting = DeliveryState::Waiting {
        due_at: START,
        error: None,
    };
    assert_eq!(state(&*store, &messages[2]).await, waiting);
    assert_eq!(
        take(&*store, &many_each("v", 9), at(19)).await,
        [],
        "its key waits with it"
    );
    let again = take_one(&*store, &many_each("v", 9), at(20)).await;
    let counts: Vec<_> = again
        .deliveries
        .iter()
        .map(|d| (d.failed, d.lost))
        .collect();
    assert_eq!(counts, [(1, 0), (0, 0)]);
    assert_eq!(ids(&[again]).concat(), ids_of(&messages[1..]));
}

pub async fn what_was_given_back_keeps_its_error(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let wanted = message();
    append(&*store, std::slice::from_ref(&wanted)).await;
    let key = take_one(&*store, &one_each("w"), START).await;
    applied(&*store, &key, waits(at(1), 1)).await;
    let key = take_one(&*store, &one_each("w"), at(1)).await;
    applied(&*store, &key, given_back(1, at(2))).await;
    let delivery = delivery_of(&*store, &wanted).await;
    let waiting = DeliveryState::Waiting {
        due_at: at(2),
        error: Some("reset".into()),
    };
    assert_eq!((delivery.state, delivery.failed), (waiting, 1));
}

pub async fn one_behind_another_is_not_marked_first(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k"]);
    append(&*store, &messages).await;
    let key = take_one(&*store, &many_each("w", 9), START).await;
    let marked = mark(&*store, key.epoch, &key.deliveries[1], delivered(at(1))).await;
    assert_eq!(marked, Marked::Stale, "order-kept");
    let both = [
        mark_of(key.epoch, &key.deliveries[0], delivered(at(1))),
        mark_of(key.epoch, &key.deliveries[1], delivered(at(1))),
    ];
    let marked = store.mark(&both).await.expect("mark");
    assert_eq!(
        marked,
        [Marked::Applied, Marked::Applied],
        "in their order both apply"
    );
}

pub async fn one_refused_mark_does_not_spoil_the_others(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    assert_eq!(store.mark(&[]).await.expect("mark"), []);
    let messages: Vec<_> = (0..4).map(|_| message()).collect();
    append(&*store, &messages).await;
    let taken = take(&*store, &one_each("w"), START).await;
    let mut marks: Vec<Mark> = taken
        .iter()
        .zip([
            delivered(at(1)),
            delivered(at(1)),
            waits(at(9), 1),
            parks(at(1)),
        ])
        .map(|(key, next)| mark_of(key.epoch, &key.deliveries[0], next))
        .collect();
    marks[0].epoch = Epoch(marks[0].epoch.0 + 100);
    marks[1].delivery.sink = super::fixture::sink("nobody");
    let marked = store.mark(&marks).await.expect("mark");
    let expected = [
        Marked::Stale,
        Marked::Stale,
        Marked::Applied,
        Marked::Applied,
    ];
    assert_eq!(marked, expected);
    let names: Vec<_> = [
        state(&*store, &messages[0]).await,
        state(&*store, &messages[2]).await,
        state(&*store, &messages[3]).await,
    ]
    .iter()
    .map(|state| state.name().as_str())
    .collect();
    assert_eq!(names, ["taken", "waiting", "parked"]);
}

pub async fn a_late_word_counts_while_nobody_else_has_it(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let wanted = message();
    append(&*store, std::slice::from_ref(&wanted)).await;
    let key = take_one(&*store, &one_each("w"), START).await;
    applied(&*store, &key, delivered(at(400))).await;
    assert!(matches!(
        state(&*store, &wanted).await,
        DeliveryState::Delivered { .. }
    ));
}
