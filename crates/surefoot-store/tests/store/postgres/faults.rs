//! Restarts, silent connections, lost listeners: work goes on within seconds, without anybody's help.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sqlx::AssertSqlSafe;
use surefoot_core::port::{Announcements, Enqueued, Extension, Store};
use surefoot_core::settle::Settlement;
use surefoot_store::postgres::{PostgresStore, sqlx};

use super::fixture::{START, at, claim, connection, job, scratch, success, take};
use super::server::{Server, Wire};

/// Repeats a verb until it is answered, as the port allows.
async fn until_answered<T, F: Future<Output = Result<T, surefoot_core::error::StoreError>>>(
    mut verb: impl FnMut() -> F,
) -> T {
    let began = Instant::now();
    loop {
        match verb().await {
            Ok(answer) => return answer,
            Err(error) => {
                assert!(
                    error.is_transient(),
                    "only what passes: {error:?} {:?}",
                    std::error::Error::source(&error)
                );
                assert!(
                    began.elapsed() < Duration::from_secs(30),
                    "it is answered within seconds: {error:?}"
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_96_work_goes_on_after_a_restart_under_load() {
    let server = Server::start_new();
    let store = PostgresStore::open_with(server.options(server.port))
        .await
        .unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (enqueued, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let (store, stop, enqueued) = (store.clone(), stop.clone(), enqueued.clone());
        tasks.push(tokio::spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                let new = [job("mail")];
                let answer = until_answered(|| store.enqueue(&new, START)).await;
                assert_eq!(answer, [Enqueued::Created(new[0].id)]);
                enqueued.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    for _ in 0..4 {
        let (store, stop, done) = (store.clone(), stop.clone(), done.clone());
        tasks.push(tokio::spawn(async move {
            let mut ends: Vec<Settlement> = Vec::new();
            let mut now = at(1);
            loop {
                let wants = claim("mail", 50);
                let advanced = until_answered(|| store.advance(&ends, Some(&wants), now)).await;
                // A claim whose answer was lost lapses and is reaped.
                now = now.after(Duration::from_secs(1));
                let lapsed = until_answered(|| store.lapsed(now, 100)).await;
                let lost: Vec<_> = lapsed
                    .iter()
                    .map(|job| {
                        super::fixture::decided(job, surefoot_core::settle::Report::Lost, now)
                    })
                    .collect();
                until_answered(|| store.advance(&lost, None, now)).await;
                done.fetch_add(advanced.settled.len(), Ordering::SeqCst);
                if stop.load(Ordering::SeqCst) && advanced.leased.is_empty() {
                    return;
                }
                ends = advanced
                    .leased
                    .iter()
                    .map(|job| success(job, now))
                    .collect();
            }
        }));
    }
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        tokio::task::block_in_place(|| server.crash());
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::task::block_in_place(|| server.start());
        let before = done.load(Ordering::SeqCst);
        let began = Instant::now();
        while done.load(Ordering::SeqCst) == before {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "work goes on after a restart"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    stop.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    // What was acknowledged is there: finished, or waiting.
    let schema = "surefoot";
    let sql = format!(
        "select (select count(*) from {schema}.job) + (select count(*) from {schema}.job_history)"
    );
    let options: sqlx::postgres::PgConnectOptions =
        format!("postgres://surefoot@127.0.0.1:{}/postgres", server.port)
            .parse()
            .unwrap();
    let mut plain = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let row = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_one(&mut plain)
        .await
        .unwrap();
    let known: i64 = sqlx::Row::get(&row, 0);
    assert_eq!(
        known,
        i64::try_from(enqueued.load(Ordering::SeqCst)).unwrap(),
        "no-lost-intent, and none twice"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_5_a_silent_connection_is_given_up_and_replaced() {
    let server = Server::start_new();
    let wire = Wire::to(&server).await;
    let store = PostgresStore::open_with(server.options(wire.port))
        .await
        .unwrap();
    let mut heart = store.heart().await.unwrap();
    // Several connections at rest, all of which go silent.
    let warm: Vec<_> = (0..6)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.enqueue(&[job("mail")], START).await.unwrap() })
        })
        .collect();
    for task in warm {
        task.await.unwrap();
    }
    let leased = take(&store, "mail", 1).await.remove(0);
    wire.go_silent();
    let began = Instant::now();
    let wants = claim("mail", 1);
    let refused = store.advance(&[], Some(&wants), at(1)).await.unwrap_err();
    assert!(refused.is_transient());
    let lease = Extension {
        job: leased.id,
        epoch: leased.state.epoch,
        until: at(100),
    };
    assert!(
        heart
            .beat(&[lease], at(1))
            .await
            .unwrap_err()
            .is_transient()
    );
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "each call ends in bounded time"
    );
    wire.come_back();
    let began = Instant::now();
    store.advance(&[], Some(&wants), at(1)).await.unwrap();
    heart.beat(&[lease], at(1)).await.unwrap();
    store.depth(START).await.unwrap();
    assert!(
        began.elapsed() < Duration::from_millis(1900),
        "none of the silent connections is used again: {:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_leaves_no_connection_behind() {
    let mut options = scratch();
    options.connections_max = 2;
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    // A lock on the table makes every verb wait.
    let mut other = connection().await;
    let lock = format!(
        "begin; lock table {}.job in access exclusive mode",
        options.schema
    );
    sqlx::raw_sql(AssertSqlSafe(lock))
        .execute(&mut other)
        .await
        .unwrap();
    for _ in 0..10 {
        let gone = tokio::time::timeout(Duration::from_millis(50), store.depth(START)).await;
        assert!(gone.is_err(), "the caller gives up");
    }
    sqlx::raw_sql("rollback").execute(&mut other).await.unwrap();
    store.depth(START).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_91_a_lost_listener_says_so_and_a_new_one_hears() {
    let options = scratch();
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    let mut heard = store.announcements().await.unwrap().unwrap();
    store.announce(&["a".parse().unwrap()]).await.unwrap();
    assert_eq!(heard.next().await.unwrap().as_str(), "a");
    let sql = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN \"{}\"%'",
        options.schema
    );
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection().await)
        .await
        .unwrap();
    let lost = tokio::time::timeout(Duration::from_secs(10), heard.next())
        .await
        .unwrap();
    assert!(lost.unwrap_err().is_transient(), "the caller is told");
    let mut heard = store.announcements().await.unwrap().unwrap();
    store.announce(&["b".parse().unwrap()]).await.unwrap();
    assert_eq!(heard.next().await.unwrap().as_str(), "b");
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_102_a_half_open_listener_is_noticed() {
    let server = Server::start_new();
    let wire = Wire::to(&server).await;
    let store = PostgresStore::open_with(server.options(wire.port))
        .await
        .unwrap();
    let mut heard = store.announcements().await.unwrap().unwrap();
    wire.go_silent();
    let lost = tokio::time::timeout(Duration::from_secs(20), heard.next()).await;
    assert!(
        lost.expect("the silence is noticed")
            .unwrap_err()
            .is_transient()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_139_names_of_any_legal_length_are_announced() {
    let store = super::fixture::store().await;
    let mut heard: Box<dyn Announcements> = store.announcements().await.unwrap().unwrap();
    let names: Vec<_> = (0..200)
        .map(|n| format!("{n:03}-{}", "q".repeat(124)).parse().unwrap())
        .collect();
    store.announce(&names).await.unwrap();
    for name in names {
        assert_eq!(heard.next().await.unwrap(), name);
    }
}
