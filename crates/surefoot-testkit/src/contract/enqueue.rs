//! Enqueue: what was acknowledged is there as it came, and one key is one job.

use std::sync::Arc;

use surefoot_core::id::{ConcurrencyKey, Epoch, Tenant};
use surefoot_core::job::{Counts, Job, JobState, TraceContext};
use surefoot_core::port::{Enqueued, NewJob, Store};

use super::fixture::{
    START, at, created, job, key, keyed, kind, order_key, payload, queue, record, take_one,
};

pub async fn a_job_reads_back_as_it_came(store: Arc<dyn Store>) {
    let new = NewJob {
        tenant: Tenant::new("acme/eu").expect("a tenant"),
        key: Some(key("order 7 – Zoë")),
        queue: queue("slow"),
        priority: -100,
        order_key: Some(order_key("customer 7")),
        concurrency_key: Some(ConcurrencyKey::new("region 'eu'").expect("a key")),
        payload: payload(r#" { "b" : 9223372036854775807, "a" : "\u0000\ud800" } "#),
        trace: TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        run_at: Some(at(60)),
        deadline_at: Some(at(600)),
        ..job("mail.send")
    };
    assert!(new.trace.is_some());
    created(&*store, std::slice::from_ref(&new), START).await;
    let found = record(&*store, new.id).await;
    let expected = Job {
        id: new.id,
        tenant: new.tenant,
        kind: new.kind,
        key: new.key,
        queue: new.queue,
        priority: new.priority,
        order_key: new.order_key,
        concurrency_key: new.concurrency_key,
        payload: new.payload,
        revision: 0,
        generation: 1,
        trace: new.trace,
        enqueued_at: START,
        deadline_at: new.deadline_at,
        counts: Counts::default(),
        state: JobState::Pending { due_at: at(60) },
    };
    assert_eq!(
        found.job, expected,
        "no-lost-intent: what was acknowledged reads back byte for byte"
    );
    assert!(found.attempts.is_empty() && found.revisions.is_empty() && found.actions.is_empty());
}

pub async fn a_key_is_one_job(store: Arc<dyn Store>) {
    let first = NewJob {
        payload: payload(r#"{"a":1,"b":2}"#),
        ..keyed("refund", "r-1")
    };
    created(&*store, std::slice::from_ref(&first), START).await;
    let same = NewJob {
        payload: payload(r#"{ "b": 2, "a": 1 }"#),
        ..keyed("refund", "r-1")
    };
    let other = NewJob {
        payload: payload(r#"{"a":1,"b":3}"#),
        ..keyed("refund", "r-1")
    };
    let answers = store
        .enqueue(&[same.clone(), other.clone()], at(1))
        .await
        .expect("enqueue");
    assert_eq!(
        answers,
        [Enqueued::Existing(first.id), Enqueued::Conflict(first.id)],
        "no-double-effect: one key is one job, and another payload under it is a conflict"
    );
    for refused in [same.id, other.id] {
        assert_eq!(
            store.job(refused).await.expect("job"),
            None,
            "no-double-effect: nothing was written"
        );
    }
    let elsewhere = NewJob {
        tenant: Tenant::new("other").expect("a tenant"),
        ..keyed("refund", "r-1")
    };
    created(
        &*store,
        &[
            keyed("mail", "r-1"),
            elsewhere,
            job("refund"),
            job("refund"),
        ],
        at(2),
    )
    .await;
    let found = store
        .find(&Tenant::single(), &kind("refund"), &key("r-1"))
        .await
        .expect("find");
    assert_eq!(found, Some(first.id));
}

pub async fn the_same_call_repeated_is_created(store: Arc<dyn Store>) {
    let jobs = [keyed("refund", "r-1"), job("refund")];
    created(&*store, &jobs, START).await;
    created(&*store, &jobs, at(1)).await;
    let before = record(&*store, jobs[0].id).await;
    assert_eq!(
        before.job.enqueued_at, START,
        "one-outcome: a repeated call changes nothing"
    );
    let leased = take_one(&*store, "refund", at(2)).await;
    assert_eq!(leased.state.epoch, Epoch::NEVER.next());
    created(&*store, &jobs, at(3)).await;
    assert_eq!(
        record(&*store, leased.id).await.job.state,
        JobState::Running(leased.state),
        "no-double-effect: a repeated call does not start a job again"
    );
}

pub async fn keys_count_within_one_batch(store: Arc<dyn Store>) {
    let first = NewJob {
        payload: payload("1"),
        ..keyed("refund", "r-1")
    };
    let same = NewJob {
        payload: payload(" 1 "),
        ..keyed("refund", "r-1")
    };
    let other = NewJob {
        payload: payload("2"),
        ..keyed("refund", "r-1")
    };
    let free = job("refund");
    let batch = [first.clone(), same, first.clone(), other, free.clone()];
    let answers = store.enqueue(&batch, START).await.expect("enqueue");
    assert_eq!(
        answers,
        [
            Enqueued::Created(first.id),
            Enqueued::Existing(first.id),
            Enqueued::Created(first.id),
            Enqueued::Conflict(first.id),
            Enqueued::Created(free.id),
        ],
        "no-double-effect: a key is one job also within one batch, and one refused item spoils no other"
    );
    let page = store
        .jobs(&Default::default(), None, 10)
        .await
        .expect("jobs");
    assert_eq!(
        page.iter().map(|job| job.id).collect::<Vec<_>>(),
        [free.id, first.id]
    );
}
