//! Pause and resume: a paused queue starts nothing, on any node, and loses nothing.

use std::sync::Arc;

use surefoot_core::port::{NewJob, Pause, Store};

use super::fixture::{START, applied, at, by, claim, created, ids, job, queue, success, take};

fn in_queue(name: &str) -> NewJob {
    NewJob {
        queue: queue(name),
        ..job("mail")
    }
}

pub async fn a_paused_queue_starts_nothing(store: Arc<dyn Store>) {
    let waiting = created(
        &*store,
        &[in_queue("a"), in_queue("a"), in_queue("b")],
        START,
    )
    .await;
    let first = take(&*store, &claim(&["mail"], 1), START).await;
    assert_eq!(ids(&first), [waiting[0]]);
    store
        .pause(&queue("a"), &by("provider is down"), at(1))
        .await
        .expect("pause");
    assert_eq!(
        ids(&take(&*store, &claim(&["mail"], 10), at(2)).await),
        [waiting[2]],
        "other queues go on"
    );
    applied(&*store, &success(&first[0], at(3)), at(3)).await;
    let new = created(&*store, &[in_queue("a")], at(3)).await;
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), at(3)).await,
        [],
        "a paused queue starts nothing"
    );
    assert!(store.resume(&queue("a")).await.expect("resume"));
    let leased = take(&*store, &claim(&["mail"], 10), at(4)).await;
    assert_eq!(
        ids(&leased),
        [waiting[1], new[0]],
        "no-lost-intent: a pause loses nothing"
    );
}

pub async fn the_first_pause_stays_until_it_is_resumed(store: Arc<dyn Store>) {
    assert!(
        !store.resume(&queue("a")).await.expect("resume"),
        "it was not paused"
    );
    store
        .pause(&queue("b"), &by("first"), at(1))
        .await
        .expect("pause");
    store
        .pause(&queue("b"), &by("second"), at(2))
        .await
        .expect("pause");
    store
        .pause(&queue("a"), &by("third"), at(3))
        .await
        .expect("pause");
    let pause = |name, reason, now| Pause {
        queue: queue(name),
        at: now,
        by: by(reason),
    };
    assert_eq!(
        store.pauses().await.expect("pauses"),
        [pause("a", "third", at(3)), pause("b", "first", at(1))],
        "by name, and the first pause of each"
    );
    assert!(store.resume(&queue("b")).await.expect("resume"));
    assert!(!store.resume(&queue("b")).await.expect("resume"));
    store
        .pause(&queue("b"), &by("again"), at(4))
        .await
        .expect("pause");
    assert_eq!(
        store.pauses().await.expect("pauses")[1],
        pause("b", "again", at(4))
    );
}
