//! Deliveries that a person decides about.

use std::sync::Arc;

use surefoot_core::message::{DeliveryState, DeliveryStateName, MessageNumber};
use surefoot_core::port::{
    DeliveryOrder, DeliverySteered, DeliveryVerb, Messages, PAGE_MAX, SinkDepth, Take,
};

use super::fixture::{
    START, append, applied, at, by, delivered, delivery, delivery_of, ids, ids_of, keys, many_each,
    message, one_each, parked, parks, record, sink, state, subscribed, take, take_one,
};

pub async fn one_bad_key_is_parked_alone(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["bad", "good", "bad", "good", "bad"]);
    append(&*store, &messages).await;
    for key in take(&*store, &many_each("w", 9), START).await {
        let is_bad = key.deliveries[0].message.key == messages[0].key;
        let next = if is_bad {
            parks(at(1))
        } else {
            delivered(at(1))
        };
        applied(&*store, &key, next).await;
    }
    let late = keys(&["bad", "good"]);
    append(&*store, &late).await;
    let error = "no such account".into();
    assert_eq!(
        state(&*store, &messages[0]).await,
        DeliveryState::Parked { at: at(1), error }
    );
    for round in 1..4 {
        let taken = take(&*store, &many_each("w", 9), at(100 * round)).await;
        assert_eq!(
            taken.len(),
            1,
            "the bad key gives nothing, whatever the time"
        );
        assert_eq!(
            ids(&taken).concat()[0],
            messages[3].id,
            "the other one goes on"
        );
    }
    for message in [&messages[2], &messages[4], &late[0]] {
        assert_eq!(
            state(&*store, message).await.name(),
            DeliveryStateName::Waiting
        );
    }
}

pub async fn a_person_tries_again(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k"]);
    let number = parked(&*store, &messages).await[0];
    let order = store
        .again(&delivery("s", number), &by("account made"), at(50))
        .await;
    assert_eq!(order.expect("again"), DeliverySteered::Done);
    let waits = delivery_of(&*store, &messages[0]).await;
    assert_eq!((waits.failed, waits.lost), (0, 0));
    assert_eq!(take(&*store, &many_each("w", 9), at(49)).await, []);
    let taken = take(&*store, &many_each("w", 9), at(50)).await;
    assert_eq!(
        ids(&taken).concat(),
        ids_of(&messages),
        "order-kept: it stays in front"
    );
    let expected = DeliveryOrder {
        sink: sink("s"),
        verb: DeliveryVerb::Again,
        at: at(50),
        by: by("account made"),
    };
    assert_eq!(record(&*store, &messages[0]).await.orders, [expected]);
}

pub async fn a_person_skips(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages = keys(&["k", "k"]);
    let number = parked(&*store, &messages).await[0];
    let reason = by("an order of a test account");
    let order = store.skip(&delivery("s", number), &reason, at(50)).await;
    assert_eq!(order.expect("skip"), DeliverySteered::Done);
    let skipped = DeliveryState::Skipped {
        at: at(50),
        by: reason.clone(),
    };
    assert_eq!(state(&*store, &messages[0]).await, skipped);
    let taken = take(&*store, &many_each("w", 9), at(50)).await;
    assert_eq!(
        ids(&taken).concat(),
        ids_of(&messages[1..]),
        "those behind go on"
    );
    let orders = record(&*store, &messages[0]).await.orders;
    assert_eq!((orders.len(), orders[0].verb), (1, DeliveryVerb::Skip));
    assert_eq!(orders[0].by, reason);
}

pub async fn what_is_not_parked_cannot_be_steered(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let wanted = message();
    let number = append(&*store, std::slice::from_ref(&wanted)).await[0];
    let steer = |name: DeliveryStateName| {
        let (store, one) = (store.clone(), delivery("s", number));
        async move {
            let refused = DeliverySteered::Refused(name);
            let again = store.again(&one, &by("try"), at(9)).await.expect("again");
            let skip = store.skip(&one, &by("skip"), at(9)).await.expect("skip");
            assert_eq!((again, skip), (refused, refused));
        }
    };
    steer(DeliveryStateName::Waiting).await;
    let key = take_one(&*store, &one_each("w"), START).await;
    steer(DeliveryStateName::Taken).await;
    applied(&*store, &key, delivered(at(1))).await;
    steer(DeliveryStateName::Delivered).await;
    assert_eq!(
        record(&*store, &wanted).await.orders,
        [],
        "what was refused is no order"
    );
    for other in [
        delivery("t", number),
        delivery("s", MessageNumber(number.0 + 99)),
    ] {
        let again = store.again(&other, &by("try"), at(9)).await.expect("again");
        let skip = store.skip(&other, &by("skip"), at(9)).await.expect("skip");
        assert_eq!(
            (again, skip),
            (DeliverySteered::NotFound, DeliverySteered::NotFound)
        );
    }
}

pub async fn parked_deliveries_are_listed_in_pages(store: Arc<dyn Messages>) {
    assert_eq!(store.parked(None, None, 9).await.expect("parked"), []);
    subscribed(&*store, "s").await;
    subscribed(&*store, "t").await;
    let messages: Vec<_> = (0..7).map(|_| message()).collect();
    let numbers = parked(&*store, &messages).await;
    let other = Take {
        sink: sink("t"),
        keys_max: 1,
        ..one_each("w")
    };
    let key = take_one(&*store, &other, START).await;
    let mark = surefoot_core::port::Mark {
        delivery: delivery("t", numbers[0]),
        epoch: key.epoch,
        next: parks(at(2)),
    };
    store.mark(&[mark]).await.expect("mark");
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store.parked(None, after.as_ref(), 3).await.expect("parked");
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some(last.delivery.clone());
        seen.extend(page);
    }
    let mut expected: Vec<_> = numbers
        .iter()
        .map(|number| delivery("s", *number))
        .collect();
    expected.insert(1, delivery("t", numbers[0]));
    let found: Vec<_> = seen.iter().map(|parked| parked.delivery.clone()).collect();
    assert_eq!(found, expected);
    assert_eq!(
        (&seen[0].message, seen[0].failed, seen[0].lost),
        (&messages[0], 1, 0)
    );
    assert_eq!(
        (seen[0].at, seen[0].error.as_str()),
        (at(1), "no such account")
    );
    let of_one = store
        .parked(Some(&sink("t")), None, 9)
        .await
        .expect("parked");
    assert_eq!((of_one.len(), of_one[0].at), (1, at(2)));
    let past = delivery("s", numbers[6]);
    assert_eq!(
        store.parked(None, Some(&past), 9).await.expect("parked"),
        []
    );
    let page = store.parked(None, None, u32::MAX).await.expect("parked");
    assert!(page.len() <= PAGE_MAX as usize);
}

pub async fn what_is_open_is_counted(store: Arc<dyn Messages>) {
    let depth = || async { store.message_depth().await.expect("message_depth") };
    assert_eq!(depth().await, []);
    subscribed(&*store, "t").await;
    subscribed(&*store, "s").await;
    let empty = |name: &str| SinkDepth {
        sink: sink(name),
        waiting: 0,
        taken: 0,
        parked: 0,
        oldest: None,
        oldest_parked: None,
    };
    assert_eq!(depth().await, [empty("s"), empty("t")], "by name");
    let mut messages = keys(&["a", "a", "b", "c"]);
    for (message, seconds) in messages.iter_mut().zip(1..) {
        message.appended_at = at(seconds);
    }
    append(&*store, &messages).await;
    let taken = take(&*store, &one_each("w"), at(9)).await;
    applied(&*store, &taken[0], parks(at(9))).await;
    applied(&*store, &taken[1], delivered(at(9))).await;
    let open = SinkDepth {
        waiting: 1,
        taken: 1,
        parked: 1,
        oldest: Some(at(1)),
        oldest_parked: Some(at(9)),
        ..empty("s")
    };
    let all = SinkDepth {
        waiting: 4,
        oldest: Some(at(1)),
        ..empty("t")
    };
    assert_eq!(depth().await, [open, all]);
}
