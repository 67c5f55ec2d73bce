//! Many at once: each message is delivered, once, in its order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use surefoot_core::id::MessageId;
use surefoot_core::message::{Message, Topics};
use surefoot_core::port::{Appended, Mark, Marked, Messages, Since, Subscribed, Take, TakenKey};
use surefoot_core::time::Timestamp;

use super::fixture::{
    START, append, at, at_once, delivered, keyed, many_each, mark_of, message, one_each, sink,
    subscribed,
};

/// Takes, and repeats the call while the store does not answer in time, as the port allows.
async fn taken(store: &dyn Messages, take: &Take, now: Timestamp) -> Vec<TakenKey> {
    for _ in 0..20 {
        match store.take(take, now).await {
            Err(error) if error.is_transient() => {}
            answer => return answer.expect("take"),
        }
    }
    panic!("take is answered in twenty tries")
}

/// Delivers all that there is until `over` is told and nothing is left; answers what was marked as delivered, in its order.
async fn drain(store: &dyn Messages, holder: &str, over: &AtomicBool) -> Vec<Message> {
    let mut done = Vec::new();
    loop {
        let ends = over.load(Ordering::SeqCst);
        let keys = taken(store, &many_each(holder, 3), START).await;
        if keys.is_empty() && ends {
            return done;
        }
        for key in keys {
            let marks: Vec<Mark> = key
                .deliveries
                .iter()
                .map(|taken| mark_of(key.epoch, taken, delivered(at(1))))
                .collect();
            let marked = store.mark(&marks).await.expect("mark");
            assert!(marked.iter().all(|marked| *marked == Marked::Applied));
            done.extend(key.deliveries.into_iter().map(|taken| taken.message));
        }
        tokio::task::yield_now().await;
    }
}

pub async fn each_is_delivered_once_in_order_by_many_holders(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let messages: Vec<_> = (0..200)
        .map(|number| match number % 10 {
            9 => message(),
            key => keyed(&format!("k-{key}")),
        })
        .collect();
    append(&*store, &messages).await;
    let done = at_once(8, |number| {
        let store = store.clone();
        async move {
            // A holder that finds nothing may only have met keys that are taken: it looks again for a while.
            let mut done = Vec::new();
            for _ in 0..40 {
                let over = AtomicBool::new(true);
                done.extend(drain(&*store, &format!("w-{number}"), &over).await);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            done
        }
    })
    .await;
    let mut times: BTreeMap<MessageId, usize> = BTreeMap::new();
    for message in done.iter().flatten() {
        *times.entry(message.id.clone()).or_default() += 1;
    }
    assert_eq!(times.len(), messages.len(), "no-lost-intent");
    assert!(times.values().all(|times| *times == 1), "no-double-effect");
    let place = |id: &MessageId| messages.iter().position(|message| message.id == *id);
    for of_holder in &done {
        for key in (0..9).map(|key| keyed(&format!("k-{key}")).key) {
            let places: Vec<_> = of_holder
                .iter()
                .filter(|message| message.key == key)
                .map(|message| place(&message.id))
                .collect();
            assert!(places.is_sorted(), "order-kept: {places:?}");
        }
    }
}

pub async fn nothing_is_lost_while_it_is_appended_and_taken(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let over = Arc::new(AtomicBool::new(false));
    let drains: Vec<_> = ["v", "w"]
        .map(|holder| {
            let (store, over) = (store.clone(), over.clone());
            tokio::spawn(async move { drain(&*store, holder, &over).await })
        })
        .into_iter()
        .collect();
    at_once(10, |number| {
        let store = store.clone();
        async move {
            for turn in 0..10 {
                let key = format!("k-{}", (number + turn) % 4);
                append(&*store, &[keyed(&key), message(), keyed(&key)]).await;
            }
        }
    })
    .await;
    over.store(true, Ordering::SeqCst);
    let mut done = Vec::new();
    for drain in drains {
        done.extend(drain.await.expect("a drain ends"));
    }
    let rest = AtomicBool::new(true);
    done.extend(drain(&*store, "u", &rest).await);
    let depth = store.message_depth().await.expect("message_depth");
    assert_eq!((depth[0].waiting, depth[0].taken), (0, 0), "no-lost-intent");
    assert_eq!(done.len(), 300, "no-double-effect");
}

pub async fn no_message_falls_between_an_append_and_a_subscription(store: Arc<dyn Messages>) {
    for round in 0..10 {
        let name = format!("s-{round}");
        let made = at_once(6, |number| {
            let (store, name) = (store.clone(), name.clone());
            async move {
                if number == 0 {
                    let name = sink(&name);
                    let subscribing = store.subscribe(&name, &Topics::All, Since::Kept, START);
                    let done = subscribing.await.expect("subscribe");
                    assert!(matches!(done, Subscribed::Done { .. }));
                    return 0;
                }
                append(&*store, &[message(), keyed("k")]).await.len()
            }
        })
        .await;
        assert_eq!(made.iter().sum::<usize>(), 10);
        let depth = store.message_depth().await.expect("message_depth");
        let depth = depth.into_iter().find(|depth| depth.sink == sink(&name));
        assert_eq!(
            depth.map(|depth| depth.waiting),
            Some(10 * (round + 1)),
            "no-lost-intent: each is delivered, those before and those after"
        );
    }
}

pub async fn of_many_appends_of_one_id_one_is_written(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    for _ in 0..5 {
        let wanted = message();
        let answers = at_once(20, |_| {
            let (store, wanted) = (store.clone(), wanted.clone());
            async move { store.append(&[wanted]).await.expect("append")[0] }
        })
        .await;
        let written = |answer: &&Appended| matches!(answer, Appended::Written(_));
        assert_eq!(answers.iter().filter(written).count(), 1);
        let conflict = |answer: &Appended| matches!(answer, Appended::Conflict(_));
        assert!(!answers.iter().any(conflict));
        let number = answers[0].number();
        assert!(answers.iter().all(|answer| answer.number() == number));
        assert_eq!(taken(&*store, &one_each("w"), START).await.len(), 1);
    }
}
