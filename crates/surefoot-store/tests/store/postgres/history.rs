//! History in partitions of a week: made ahead, dropped whole, and nothing that somebody needs goes with them.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Row};
use surefoot_core::id::JobId;
use surefoot_core::job::StateName;
use surefoot_core::port::{Enqueued, NewJob, Store};
use surefoot_core::settle::Report;
use surefoot_core::time::Timestamp;
use surefoot_store::postgres::{PostgresOptions, PostgresStore, sqlx};

use super::fixture::{START, at, claim, connection, decided, job, keyed, scratch, success, take};

const DAY: Duration = Duration::from_secs(86_400);

async fn partitions(options: &PostgresOptions, parent: &str) -> Vec<String> {
    let sql = format!(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = '{}.{parent}'::regclass and c.relname ~ '_2026' order by 1",
        options.schema
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(&mut connection().await)
        .await
        .unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn rows_in(options: &PostgresOptions, table: &str) -> i64 {
    let sql = format!("select count(*) from {}.{table}", options.schema);
    sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_one(&mut connection().await)
        .await
        .unwrap()
        .get(0)
}

async fn maintained(store: &PostgresStore, keep: Duration, now: Timestamp) -> u64 {
    let mut dropped = 0;
    for _ in 0..50 {
        let step = store.maintain(keep, now).await.unwrap();
        dropped += step.jobs_dropped;
        if !step.more {
            return dropped;
        }
    }
    panic!("it comes to an end");
}

async fn state(store: &PostgresStore, id: JobId) -> Option<StateName> {
    store
        .job(id)
        .await
        .unwrap()
        .map(|record| record.job.state.name())
}

#[tokio::test]
async fn a_week_is_dropped_whole_and_leaves_what_is_needed() {
    let options = scratch();
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    store.maintain(DAY, START).await.unwrap();
    assert!(
        partitions(&options, "job_history")
            .await
            .contains(&"job_history_20260226".to_owned())
    );
    let done: Vec<_> = (0..30).map(|n| keyed("mail", &format!("k{n}"))).collect();
    store.enqueue(&done, START).await.unwrap();
    let leased = take(&store, "mail", 100).await;
    let ends: Vec<_> = leased.iter().map(|job| success(job, at(2))).collect();
    store.advance(&ends, None, at(2)).await.unwrap();
    // One that dies after two attempts, one that waits for its second attempt, one that ends much later.
    let (dead, waiting, late) = (
        keyed("dead", "k"),
        keyed("waiting", "k"),
        keyed("late", "k"),
    );
    store
        .enqueue(&[dead.clone(), waiting.clone(), late.clone()], START)
        .await
        .unwrap();
    let failure = || Report::Failed(surefoot_core::failure::Failure::transient("no"));
    for (kind, seconds) in [("dead", 1), ("waiting", 1), ("late", 1), ("dead", 600)] {
        let leased = store
            .advance(&[], Some(&claim(kind, 1)), at(seconds))
            .await
            .unwrap()
            .leased;
        let report = if seconds == 600 {
            Report::Failed(surefoot_core::failure::Failure::permanent("no"))
        } else {
            failure()
        };
        store
            .advance(
                &[decided(&leased[0], report, at(seconds))],
                None,
                at(seconds),
            )
            .await
            .unwrap();
    }
    let month = START.after(DAY * 30);
    let leased = store
        .advance(&[], Some(&claim("late", 1)), month)
        .await
        .unwrap()
        .leased;
    store
        .advance(&[success(&leased[0], month)], None, month)
        .await
        .unwrap();
    assert_eq!(rows_in(&options, "job_history_20260226").await, 31);
    assert_eq!(rows_in(&options, "attempt_20260226").await, 4);

    let now = START.after(DAY * 31);
    assert_eq!(maintained(&store, DAY * 7, now).await, 30);
    let left = partitions(&options, "job_history").await;
    assert!(
        !left.contains(&"job_history_20260226".to_owned()),
        "{left:?}"
    );
    assert!(
        left.contains(&"job_history_20260402".to_owned()),
        "those of the coming weeks are there: {left:?}"
    );
    for new in &done {
        assert_eq!(state(&store, new.id).await, None);
    }
    let again = NewJob {
        id: super::fixture::fresh_id(),
        ..done[0].clone()
    };
    assert_eq!(
        store
            .enqueue(std::slice::from_ref(&again), now)
            .await
            .unwrap(),
        [Enqueued::Created(again.id)]
    );
    for (kept, expected, attempts) in [
        (&dead, StateName::Dead, 2),
        (&waiting, StateName::Retrying, 1),
        (&late, StateName::Succeeded, 2),
    ] {
        let record = store.job(kept.id).await.unwrap().unwrap();
        assert_eq!(
            (record.job.state.name(), record.attempts.len()),
            (expected, attempts),
            "every-attempt-logged"
        );
        let twin = NewJob {
            id: super::fixture::fresh_id(),
            ..kept.clone()
        };
        assert_eq!(
            store.enqueue(&[twin], now).await.unwrap(),
            [Enqueued::Existing(kept.id)],
            "it keeps its key"
        );
    }
    // When the last of them has left, their attempts go too.
    let much_later = START.after(DAY * 200);
    store.cancel(waiting.id, &by(), now).await.unwrap();
    store.ignore(dead.id, &by(), now).await.unwrap();
    let leased = store
        .advance(&[], Some(&claim("mail", 1)), now)
        .await
        .unwrap()
        .leased;
    store
        .advance(&[success(&leased[0], now)], None, now)
        .await
        .unwrap();
    assert_eq!(maintained(&store, DAY * 7, much_later).await, 4);
    assert_eq!(rows_in(&options, "job_key").await, 0);
    assert_eq!(rows_in(&options, "action").await, 0);
    let left = partitions(&options, "attempt").await;
    assert!(!left.contains(&"attempt_20260226".to_owned()), "{left:?}");
}

fn by() -> surefoot_core::port::By {
    surefoot_core::port::By {
        actor: surefoot_core::id::Actor::new("ada").unwrap(),
        reason: surefoot_core::text::ErrorText::from("not needed"),
    }
}

#[tokio::test]
async fn a_repeated_call_of_a_job_without_a_key_is_known_after_its_end() {
    let store = super::fixture::store().await;
    for in_week in [false, true] {
        if in_week {
            store.maintain(DAY, START).await.unwrap();
        }
        let new = [job("mail"), job("mail")];
        store.enqueue(&new, START).await.unwrap();
        let leased = take(&store, "mail", 10).await;
        let ends: Vec<_> = leased.iter().map(|job| success(job, at(2))).collect();
        store.advance(&ends, None, at(2)).await.unwrap();
        let fresh = job("mail");
        let batch = [new[1].clone(), fresh.clone(), new[0].clone()];
        let expected: Vec<_> = batch.iter().map(|job| Enqueued::Created(job.id)).collect();
        assert_eq!(store.enqueue(&batch, at(3)).await.unwrap(), expected);
        let wants = claim("mail", 10);
        let leased = store
            .advance(&[], Some(&wants), at(3))
            .await
            .unwrap()
            .leased;
        assert_eq!(
            leased.iter().map(|job| job.id).collect::<Vec<_>>(),
            [fresh.id],
            "no-double-effect"
        );
        store
            .advance(&[success(&leased[0], at(4))], None, at(4))
            .await
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_gives_way_to_those_who_work() {
    let options = scratch();
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    let mut other = connection().await;
    let hold = format!("begin; select count(*) from {}.job_history", options.schema);
    sqlx::raw_sql(AssertSqlSafe(hold))
        .execute(&mut other)
        .await
        .unwrap();
    // A reader that does not end: new partitions wait for another time, and nobody waits for them.
    store.maintain(DAY, START).await.unwrap();
    store.enqueue(&[job("mail")], START).await.unwrap();
    let leased = take(&store, "mail", 1).await;
    store
        .advance(&[success(&leased[0], at(2))], None, at(2))
        .await
        .unwrap();
    assert_eq!(
        state(&store, leased[0].id).await,
        Some(StateName::Succeeded)
    );
}

/// Puts this many effects of each job on record, only quicker than one by one.
async fn fill_effects(options: &PostgresOptions, effects_each: i64) {
    let schema = &options.schema;
    let sql = format!(
        "insert into {schema}.effect (job, place, version, document)
        select k.id, n - 1, 1, '{{}}' from {schema}.known_job k cross join generate_series(1, {effects_each}) n"
    );
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection().await)
        .await
        .unwrap();
}

async fn finished(store: &PostgresStore, jobs: usize) -> Vec<JobId> {
    let new: Vec<_> = (0..jobs).map(|_| job("mail")).collect();
    store.enqueue(&new, START).await.unwrap();
    let leased = take(store, "mail", 1000).await;
    let ends: Vec<_> = leased.iter().map(|job| success(job, at(2))).collect();
    store.advance(&ends, None, at(2)).await.unwrap();
    leased.iter().map(|job| job.id).collect()
}

#[tokio::test]
async fn jobs_with_many_effects_are_dropped_in_smaller_steps() {
    let options = scratch();
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    finished(&store, 7).await;
    fill_effects(&options, 1000).await;
    let now = START.after(DAY * 30);
    let step = store.maintain(DAY, now).await.unwrap();
    assert_eq!((step.jobs_dropped, step.more), (5, true));
    assert_eq!(rows_in(&options, "effect").await, 2000);
    assert_eq!(maintained(&store, DAY, now).await, 2);
    assert_eq!(rows_in(&options, "effect").await, 0);
    // One job with more than a step takes is a step by itself.
    finished(&store, 2).await;
    fill_effects(&options, 6000).await;
    assert_eq!(store.maintain(DAY, now).await.unwrap().jobs_dropped, 1);
    assert_eq!(maintained(&store, DAY, now).await, 1);
    assert_eq!(rows_in(&options, "effect").await, 0);
}

#[tokio::test]
async fn effects_go_with_the_last_job_of_their_week() {
    let options = scratch();
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    store.maintain(DAY, START).await.unwrap();
    let done = finished(&store, 3).await;
    let waiting = job("waiting");
    store
        .enqueue(std::slice::from_ref(&waiting), START)
        .await
        .unwrap();
    fill_effects(&options, 2).await;
    assert_eq!(rows_in(&options, "effect_20260226").await, 8);
    let now = START.after(DAY * 31);
    assert_eq!(maintained(&store, DAY * 7, now).await, 3);
    assert_eq!(
        store.effects(&done).await.unwrap(),
        [],
        "what a dropped job left is not told"
    );
    assert_eq!(rows_in(&options, "effect_20260226").await, 8);
    store.cancel(waiting.id, &by(), now).await.unwrap();
    assert_eq!(maintained(&store, DAY * 7, START.after(DAY * 200)).await, 1);
    let left = partitions(&options, "effect").await;
    assert!(!left.contains(&"effect_20260226".to_owned()), "{left:?}");
}
