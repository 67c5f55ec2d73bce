//! Enqueue: what was acknowledged is there as it came, and one key is one job.

use std::sync::Arc;

use surefoot_core::id::{ConcurrencyKey, Epoch, Tenant};
use surefoot_core::job::{Counts, Job, JobState, StateName, TraceContext};
use surefoot_core::payload::PAYLOAD_BYTES_MAX;
use surefoot_core::port::{Enqueued, JobFilter, NewJob, Steered, Store};
use surefoot_core::settle::Report;

use super::fixture::{
    START, applied, at, at_once, by, claim, created, decided, fresh_id, in_state, job, key, keyed,
    kind, order_key, payload, queue, record, take, take_one,
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

pub async fn keys_and_texts_of_any_legal_length_are_kept(store: Arc<dyn Store>) {
    let word = "w".repeat(128);
    let long = "ü".repeat(127);
    let new = NewJob {
        tenant: Tenant::new(word.as_str()).expect("a tenant"),
        key: Some(key(&long)),
        queue: queue(&word),
        order_key: Some(order_key(&long)),
        concurrency_key: Some(ConcurrencyKey::new(long.as_str()).expect("a key")),
        ..job(&word)
    };
    created(&*store, std::slice::from_ref(&new), START).await;
    let found = store
        .find(&new.tenant, &new.kind, &key(&long))
        .await
        .expect("find");
    assert_eq!(
        found,
        Some(new.id),
        "no-lost-intent: a key of any legal length finds its job"
    );
    let twin = NewJob {
        id: fresh_id(),
        ..new.clone()
    };
    assert_eq!(
        store.enqueue(&[twin], START).await.expect("enqueue"),
        [Enqueued::Existing(new.id)]
    );
    // Keys that differ only at their end or in their case are different keys.
    let near = NewJob {
        key: Some(key(&format!("{}u", &long[2..]))),
        ..job(&word)
    };
    let upper = NewJob {
        key: Some(key(&long.to_uppercase())),
        ..job(&word)
    };
    created(&*store, &[near, upper], START).await;
}

pub async fn payloads_are_kept_byte_for_byte(store: Arc<dyn Store>) {
    let large = format!("\"{}\"", "x".repeat(PAYLOAD_BYTES_MAX - 2));
    let texts = [
        "null",
        " [ ] ",
        "9223372036854775807",
        "-0.0",
        "1e400",
        r#""\u0000""#,
        r#"{"\u0000":"a\u0000b\ud800"}"#,
        "\"\u{fffd}\u{10ffff} tab\\t\"",
        r#"{"b":9007199254740993,"a":{"z":1,"y":2}}"#,
        large.as_str(),
    ];
    for text in texts {
        let new = NewJob {
            payload: payload(text),
            ..job("mail")
        };
        created(&*store, std::slice::from_ref(&new), START).await;
        let leased = take_one(&*store, "mail", START).await;
        assert!(
            leased.payload.as_str() == text,
            "no-lost-intent: the handler is given what was sent"
        );
        let result = decided(&leased, Report::Succeeded(payload(text)), START);
        applied(&*store, &result, START).await;
        let found = record(&*store, new.id).await.job;
        assert!(
            found.payload.as_str() == text,
            "no-lost-intent: the payload stays as it came"
        );
        assert_eq!(
            found.state,
            JobState::Succeeded {
                at: START,
                result: payload(text)
            },
            "one-outcome: the result stays as it was returned"
        );
    }
}

pub async fn a_key_is_held_in_every_state(store: Arc<dyn Store>) {
    for state in StateName::ALL {
        let kind_name = format!("kind-{}", state.as_str());
        let first = keyed(&kind_name, "k");
        in_state(&*store, first.clone(), state).await;
        let before = record(&*store, first.id).await;
        let again = keyed(&kind_name, "k");
        let other = NewJob {
            payload: payload("2"),
            ..keyed(&kind_name, "k")
        };
        let answers = store
            .enqueue(&[again, other, first.clone()], at(1))
            .await
            .expect("enqueue");
        assert_eq!(
            answers,
            [
                Enqueued::Existing(first.id),
                Enqueued::Conflict(first.id),
                Enqueued::Created(first.id)
            ],
            "no-double-effect: a {} job holds its key",
            state.as_str()
        );
        assert_eq!(
            record(&*store, first.id).await,
            before,
            "no-double-effect: it is as it was"
        );
    }
    let all = store
        .jobs(&JobFilter::default(), None, 100)
        .await
        .expect("jobs");
    assert_eq!(
        all.len(),
        StateName::ALL.len(),
        "no-double-effect: nothing was written"
    );
}

pub async fn the_payload_as_first_enqueued_counts(store: Arc<dyn Store>) {
    let first = NewJob {
        payload: payload(r#"{"to":"ada"}"#),
        ..keyed("mail", "k")
    };
    in_state(&*store, first.clone(), StateName::Dead).await;
    let edited = payload(r#"{"to":"bob"}"#);
    let answer = store
        .edit(first.id, &edited, &by("wrong address"), at(1))
        .await
        .expect("edit");
    assert_eq!(answer, Steered::Done);
    let as_first = NewJob {
        payload: payload(r#"{ "to": "ada" }"#),
        ..keyed("mail", "k")
    };
    let as_edited = NewJob {
        payload: edited,
        ..keyed("mail", "k")
    };
    let answers = store
        .enqueue(&[as_first, as_edited], at(2))
        .await
        .expect("enqueue");
    assert_eq!(
        answers,
        [Enqueued::Existing(first.id), Enqueued::Conflict(first.id)],
        "no-double-effect: a caller who repeats its call is told the same after an edit"
    );
}

pub async fn concurrent_enqueues_of_one_key_give_one_job(store: Arc<dyn Store>) {
    for round in 0..10 {
        let answers = at_once(8, |_| {
            let (store, new) = (store.clone(), keyed("refund", &format!("r-{round}")));
            async move {
                store
                    .enqueue(&[new, job("refund")], START)
                    .await
                    .expect("enqueue")[0]
            }
        })
        .await;
        let made = answers
            .iter()
            .filter(|answer| matches!(answer, Enqueued::Created(_)))
            .count();
        assert_eq!(
            made, 1,
            "no-double-effect: one key is one job, also for callers at once: {answers:?}"
        );
        let first = answers[0].job();
        assert!(
            answers.iter().all(|answer| answer.job() == first),
            "all are told the same job: {answers:?}"
        );
        record(&*store, first).await;
    }
}

pub async fn concurrent_repeats_of_one_call_give_one_job(store: Arc<dyn Store>) {
    for round in 0..10 {
        let batch = [keyed("refund", &format!("r-{round}")), job("refund")];
        let expected: Vec<_> = batch.iter().map(|new| Enqueued::Created(new.id)).collect();
        let answers = at_once(8, |_| {
            let (store, batch) = (store.clone(), batch.clone());
            async move { store.enqueue(&batch, START).await.expect("enqueue") }
        })
        .await;
        assert_eq!(
            answers,
            vec![expected; 8],
            "no-double-effect: the same call, repeated at once"
        );
    }
    assert_eq!(
        take(&*store, &claim(&["refund"], 100), START).await.len(),
        20
    );
}
