//! Depth: how much waits, runs and is dead, and since when.

use std::sync::Arc;

use surefoot_core::job::StateName;
use surefoot_core::port::{Depth, DepthCount, NewJob, Store};

use super::fixture::{
    START, advance, applied, at, by, claim, created, in_state, job, kind, permanent, queue,
    running, success, take,
};

fn count(queue_name: &str, kind_name: &str, state: StateName, count: u64) -> DepthCount {
    DepthCount {
        queue: queue(queue_name),
        kind: kind(kind_name),
        state,
        count,
    }
}

pub async fn an_empty_store_has_no_depth(store: Arc<dyn Store>) {
    assert_eq!(store.depth(START).await.expect("depth"), Depth::default());
}

pub async fn each_queue_kind_and_state_is_counted(store: Arc<dyn Store>) {
    for state in StateName::ALL {
        in_state(&*store, job("mail"), state).await;
        if state == StateName::Pending {
            // Out of the way of the claims that bring the others into their states.
            let waiting = take(&*store, &claim(&["mail"], 1), START).await;
            advance(&*store, &[success(&waiting[0], START)], None, START).await;
        }
    }
    let of = |queue_name: &str, kind_name: &str| NewJob {
        queue: queue(queue_name),
        ..job(kind_name)
    };
    let batch = [
        of("b", "mail"),
        of("a", "refund"),
        of("a", "mail"),
        of("b", "mail"),
        job("mail"),
    ];
    created(&*store, &batch, START).await;
    let expected = [
        count("a", "mail", StateName::Pending, 1),
        count("a", "refund", StateName::Pending, 1),
        count("b", "mail", StateName::Pending, 2),
        count("default", "mail", StateName::Pending, 1),
        count("default", "mail", StateName::Running, 1),
        count("default", "mail", StateName::Retrying, 1),
        count("default", "mail", StateName::Verifying, 1),
        count("default", "mail", StateName::Dead, 1),
    ];
    assert_eq!(
        store.depth(START).await.expect("depth").counts,
        expected,
        "in the order of queue, kind and a job's life"
    );
}

pub async fn the_oldest_are_told(store: Arc<dyn Store>) {
    let of = |second: u64| NewJob {
        run_at: Some(at(second)),
        ..job("mail")
    };
    created(&*store, &[of(30), of(20), of(40)], START).await;
    let oldest = |now| {
        let store = store.clone();
        async move { store.depth(now).await.expect("depth").oldest_due }
    };
    assert_eq!(oldest(at(19)).await, None, "what is not due is not late");
    assert_eq!(oldest(at(20)).await, Some(at(20)));
    assert_eq!(
        oldest(at(100)).await,
        Some(at(20)),
        "the one that is due the longest"
    );
    store
        .pause(&queue("default"), &by("down"), at(100))
        .await
        .expect("pause");
    assert_eq!(
        oldest(at(100)).await,
        Some(at(20)),
        "also in a paused queue"
    );
    store.resume(&queue("default")).await.expect("resume");
    assert_eq!(take(&*store, &claim(&["mail"], 1), at(100)).await.len(), 1);
    assert_eq!(oldest(at(100)).await, Some(at(30)), "what runs is not late");

    assert_eq!(store.depth(at(100)).await.expect("depth").oldest_dead, None);
    for second in [60, 50, 70] {
        let leased = running(&*store, "refund", START).await;
        applied(&*store, &permanent(&leased, "no", at(second)), at(second)).await;
    }
    assert_eq!(
        store.depth(at(100)).await.expect("depth").oldest_dead,
        Some(at(50))
    );
}
