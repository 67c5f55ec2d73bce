//! What is taken, how much of it, and in which rank.

use std::sync::Arc;

use surefoot_core::message::Message;
use surefoot_core::port::{Messages, TAKE_MAX, Take};

use super::fixture::{
    START, append, applied, at, delivered, ids, ids_of, keys, many_each, message, one_each, sink,
    subscribed, take, waits,
};

pub async fn nothing_is_taken_before_it_is_due(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    assert_eq!(take(&*store, &one_each("w"), START).await, []);
    let later = Message {
        appended_at: at(5),
        ..message()
    };
    append(&*store, &[later]).await;
    assert_eq!(take(&*store, &one_each("w"), at(4)).await, []);
    let key = take(&*store, &one_each("w"), at(5)).await.remove(0);
    applied(&*store, &key, waits(at(60), 1)).await;
    assert_eq!(take(&*store, &one_each("w"), at(59)).await, []);
    let again = take(&*store, &one_each("w"), at(60)).await.remove(0);
    assert_eq!(
        (again.deliveries[0].failed, again.deliveries[0].lost),
        (1, 0)
    );
}

pub async fn the_longest_due_come_first_and_no_more_than_asked(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let mut messages: Vec<_> = [3, 1, 2, 1]
        .map(|seconds| Message {
            appended_at: at(seconds),
            ..message()
        })
        .to_vec();
    append(&*store, &messages).await;
    let asked = Take {
        keys_max: 3,
        ..one_each("w")
    };
    let taken = take(&*store, &asked, at(9)).await;
    messages.sort_by_key(|message| message.appended_at);
    assert_eq!(
        ids(&taken).concat(),
        ids_of(&messages[..3]),
        "those of one time by number"
    );
    assert_eq!(
        ids(&take(&*store, &asked, at(9)).await).concat(),
        ids_of(&messages[3..])
    );
    let none = Take {
        keys_max: 0,
        ..one_each("w")
    };
    assert_eq!(take(&*store, &none, at(99)).await, []);
}

pub async fn a_take_is_bounded(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    let of_five: Vec<_> = (0..300).map(|number| format!("k-{}", number % 5)).collect();
    let of_five: Vec<_> = of_five.iter().map(String::as_str).collect();
    append(&*store, &keys(&of_five)).await;
    let all = Take {
        keys_max: u32::MAX,
        ..many_each("w", u32::MAX)
    };
    let count = |taken: Vec<Vec<_>>| taken.iter().map(Vec::len).sum::<usize>();
    let taken = ids(&take(&*store, &all, START).await);
    assert_eq!(count(taken), TAKE_MAX as usize);
    let messages: Vec<_> = (0..150).map(|_| message()).collect();
    append(&*store, &messages).await;
    let taken = ids(&take(&*store, &all, START).await);
    assert_eq!(count(taken), TAKE_MAX as usize);
}

pub async fn sinks_are_apart(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    subscribed(&*store, "t").await;
    let messages = keys(&["a", "a"]);
    append(&*store, &messages).await;
    let key = take(&*store, &one_each("w"), START).await.remove(0);
    applied(&*store, &key, super::fixture::parks(at(1))).await;
    let other = Take {
        sink: sink("t"),
        ..many_each("w", 10)
    };
    let taken = take(&*store, &other, START).await;
    assert_eq!(
        ids(&taken).concat(),
        ids_of(&messages),
        "one sink's trouble is its own"
    );
    assert_eq!(take(&*store, &one_each("w"), at(99)).await, []);
}

pub async fn epochs_rise(store: Arc<dyn Messages>) {
    subscribed(&*store, "s").await;
    subscribed(&*store, "t").await;
    let mut last = surefoot_core::id::Epoch::NEVER;
    for round in 0..5 {
        append(&*store, &keys(&["a", "b"])).await;
        for name in ["s", "t"] {
            let asked = Take {
                sink: sink(name),
                ..one_each("w")
            };
            for key in take(&*store, &asked, at(round)).await {
                assert!(key.epoch > last, "none is given twice, whatever the key");
                last = key.epoch;
                if name == "s" {
                    applied(&*store, &key, delivered(at(round))).await;
                }
            }
        }
    }
}
