//! The outcome of an attempt in the caller's own transaction: rows, outcome, effect and new jobs are one commit.

use std::slice::from_ref;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use surefoot_core::effect::{
    Answer, Begin, Declared, Effect, EffectRecovery, EffectTerms, answered, begin,
};
use surefoot_core::failure::Failure;
use surefoot_core::id::Epoch;
use surefoot_core::job::{JobState, LeasedJob, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::port::{EffectWrite, EffectWritten, NewJob, Settled, Store};
use surefoot_core::settle::Report;
use surefoot_store::NotSettled;
use surefoot_store::postgres::{PostgresOptions, PostgresStore, sqlx};

use super::fixture::{START, at, claim, connection, decided, job, scratch, success, take};

/// A shop with a job that runs, and its table in the schema of the test.
struct Shop {
    options: PostgresOptions,
    store: PostgresStore,
    leased: LeasedJob,
}

impl Shop {
    async fn open(job: NewJob) -> Self {
        let options = scratch();
        let store = PostgresStore::open_with(options.clone()).await.unwrap();
        let sql = format!(
            "create table {}.refund (id bigint generated always as identity)",
            options.schema
        );
        run(&mut connection().await, sql).await;
        store.enqueue(&[job], START).await.unwrap();
        let leased = take(&store, "refund", 1).await.remove(0);
        Self {
            options,
            store,
            leased,
        }
    }

    async fn refunds(&self) -> i64 {
        let sql = format!("select count(*) from {}.refund", self.options.schema);
        let row = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_one(&mut connection().await)
            .await;
        row.unwrap().get(0)
    }

    /// What a handler does at its end.
    async fn refund(&self, tx: &mut PgConnection, leased: &LeasedJob) -> Result<(), NotSettled> {
        let sql = format!("insert into {}.refund default values", self.options.schema);
        run(tx, sql).await;
        self.store.enqueue_in(tx, &job("mail"), at(2)).await?;
        self.store.settle_in(tx, &success(leased, at(2))).await
    }

    /// The same in a transaction that is rolled back on every error.
    async fn refund_once(&self, leased: &LeasedJob) -> Result<(), NotSettled> {
        let mut connection = connection().await;
        let mut tx = connection.begin().await.unwrap();
        let answer = self.refund(&mut tx, leased).await;
        match &answer {
            Ok(()) => tx.commit().await.unwrap(),
            Err(_) => tx.rollback().await.unwrap(),
        }
        answer
    }

    async fn state(&self) -> JobState {
        let record = self.store.job(self.leased.id).await.unwrap().unwrap();
        record.job.state
    }

    async fn counts(&self) -> Vec<(StateName, u64)> {
        let depth = self.store.depth(at(3)).await.unwrap();
        let counts = depth.counts.iter();
        counts.map(|line| (line.state, line.count)).collect()
    }
}

async fn run(connection: &mut PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .unwrap();
}

#[tokio::test]
async fn rows_outcome_and_new_jobs_are_one_commit() {
    let shop = Shop::open(job("refund")).await;
    let mut connection = connection().await;
    let mut tx = connection.begin().await.unwrap();
    shop.refund(&mut tx, &shop.leased).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(
        shop.state().await,
        JobState::Running(shop.leased.state.clone())
    );
    assert_eq!(shop.counts().await, [(StateName::Running, 1)]);
    assert_eq!(shop.refunds().await, 0);

    shop.refund_once(&shop.leased).await.unwrap();
    let expected = JobState::Succeeded {
        at: at(2),
        result: Payload::null(),
    };
    assert_eq!(shop.state().await, expected);
    assert_eq!(shop.counts().await, [(StateName::Pending, 1)]);
    assert_eq!(shop.refunds().await, 1);
    let later = [success(&shop.leased, at(3))];
    let advanced = shop.store.advance(&later, None, at(3)).await.unwrap();
    assert_eq!(
        advanced.settled,
        [Settled::Already],
        "the engine is told that it stands"
    );
    assert_eq!(
        shop.state().await,
        expected,
        "one-outcome: the first one stays"
    );
    let other = decided(
        &shop.leased,
        Report::Failed(Failure::transient("the answer was lost")),
        at(3),
    );
    let advanced = shop.store.advance(&[other], None, at(3)).await.unwrap();
    assert_eq!(advanced.settled, [Settled::Stale], "one-outcome");
    assert_eq!(shop.state().await, expected);
}

#[tokio::test]
async fn a_lost_lease_takes_the_rows_with_it() {
    let shop = Shop::open(job("refund")).await;
    let zombie = &shop.leased;
    let lost = decided(zombie, Report::Lost, at(60));
    shop.store.advance(&[lost], None, at(60)).await.unwrap();
    let stale = |refused: &Result<(), NotSettled>| {
        matches!(refused, Err(NotSettled::Stale { job, epoch })
            if (*job, *epoch) == (zombie.id, zombie.state.epoch))
    };
    let refused = shop.refund_once(zombie).await;
    assert!(stale(&refused), "while it waits: {refused:?}");

    let next = claim("refund", 1);
    let advanced = shop.store.advance(&[], Some(&next), at(1_000)).await;
    let leased = advanced.unwrap().leased.remove(0);
    let refused = shop.refund_once(zombie).await;
    assert!(stale(&refused), "while another holds it: {refused:?}");
    assert_eq!(
        shop.state().await,
        JobState::Running(leased.state.clone()),
        "no-zombie-write"
    );
    assert_eq!(shop.refunds().await, 0, "no-zombie-write");
    assert_eq!(shop.counts().await, [(StateName::Running, 1)]);

    shop.refund_once(&leased).await.unwrap();
    assert_eq!(shop.refunds().await, 1);
}

/// The caller did not hear of its commit, and does it all again.
#[tokio::test]
async fn a_repeated_transaction_writes_its_rows_once() {
    let shop = Shop::open(job("refund")).await;
    for round in 0..3 {
        let answer = shop.refund_once(&shop.leased).await;
        match (round, &answer) {
            (0, Ok(())) | (1.., Err(NotSettled::Already { .. })) => {}
            (_, other) => panic!("round {round}: {other:?}"),
        }
    }
    assert_eq!(shop.refunds().await, 1);
    assert_eq!(shop.counts().await, [(StateName::Pending, 1)]);
}

/// Whoever finds the lease lapsed while the holder's transaction is open waits for it, and then comes too late.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_takes_the_job_while_the_transaction_is_open() {
    let shop = Shop::open(job("refund")).await;
    let mut connection = connection().await;
    let mut tx = connection.begin().await.unwrap();
    shop.refund(&mut tx, &shop.leased).await.unwrap();
    let reaper = tokio::spawn({
        let store = shop.store.clone();
        let lost = decided(&shop.leased, Report::Lost, at(60));
        async move { store.advance(&[lost], None, at(60)).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!reaper.is_finished(), "it waits for what becomes of it");
    tx.commit().await.unwrap();
    let settled = reaper.await.unwrap().unwrap().settled;
    assert_eq!(settled, [Settled::Stale]);
    assert_eq!(shop.state().await.name(), StateName::Succeeded);
}

/// What the holder still writes under the lease that the transaction ends waits for it, and then comes too late.
#[tokio::test(flavor = "multi_thread")]
async fn no_effect_is_written_under_a_lease_that_is_being_ended() {
    let shop = Shop::open(job("refund")).await;
    let effect = intended(&shop).await;
    let mut connection = connection().await;
    let mut tx = connection.begin().await.unwrap();
    shop.refund(&mut tx, &shop.leased).await.unwrap();
    let writer = tokio::spawn({
        let store = shop.store.clone();
        let write = EffectWrite {
            effect: answered(&effect, Answer::MaybeApplied("?".into()), None, at(3)),
            fence: Some(shop.leased.state.epoch),
            lease_until: None,
        };
        async move { store.write_effects(&[write], at(3)).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    tx.commit().await.unwrap();
    assert_eq!(
        writer.await.unwrap().unwrap(),
        [EffectWritten::Stale],
        "no-zombie-write"
    );
    let kept = shop.store.effects(&[shop.leased.id]).await.unwrap();
    assert_eq!(kept, [effect]);
}

#[tokio::test]
async fn the_next_in_line_comes_forward_with_the_commit() {
    let of = || NewJob {
        order_key: Some("account-1".parse().unwrap()),
        ..job("refund")
    };
    let shop = Shop::open(of()).await;
    let second = of();
    shop.store.enqueue(from_ref(&second), at(1)).await.unwrap();
    assert_eq!(take(&shop.store, "refund", 1).await, [], "it stands behind");
    shop.refund_once(&shop.leased).await.unwrap();
    let next = claim("refund", 5);
    let advanced = shop.store.advance(&[], Some(&next), at(3)).await.unwrap();
    assert_eq!(advanced.leased.len(), 1, "order-kept");
    assert_eq!(advanced.leased[0].id, second.id);
}

/// An effect on its way, as it is on record before its call leaves.
async fn intended(shop: &Shop) -> Effect {
    let declared = Declared {
        place: 0,
        name: "psp.refund".parse().unwrap(),
        dependency: None,
        terms: EffectTerms {
            recovery: EffectRecovery::AtMostOnce,
            timeout: Duration::from_secs(10),
        },
        cost: 7,
    };
    let Begin::Send(effect) = begin(None, &declared, &shop.leased, at(20), at(1)) else {
        panic!("nothing is known of it");
    };
    let write = EffectWrite {
        effect: *effect.clone(),
        fence: Some(shop.leased.state.epoch),
        lease_until: None,
    };
    let written = shop.store.write_effects(&[write], at(1)).await.unwrap();
    assert_eq!(written, [EffectWritten::Applied]);
    *effect
}

#[tokio::test]
async fn what_became_of_an_effect_is_in_the_same_commit() {
    let shop = Shop::open(job("refund")).await;
    let (store, leased) = (&shop.store, &shop.leased);
    let intended = intended(&shop).await;
    let answer = Answer::Applied {
        result: Payload::null(),
        cost: Some(5),
    };
    let confirmed = answered(&intended, answer, None, at(2));
    let end = |epoch: Epoch| EffectWrite {
        effect: confirmed.clone(),
        fence: Some(epoch),
        lease_until: None,
    };
    let own = end(leased.state.epoch);
    let mut connection = connection().await;
    let mut tx = connection.begin().await.unwrap();
    let written = store
        .write_effect_in(&mut tx, &end(leased.state.epoch.next()))
        .await;
    assert_eq!(written.unwrap(), EffectWritten::Stale);
    let written = store.write_effect_in(&mut tx, &own).await;
    assert_eq!(written.unwrap(), EffectWritten::Applied);
    shop.refund(&mut tx, leased).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(store.effects(&[leased.id]).await.unwrap(), [intended]);

    let mut tx = connection.begin().await.unwrap();
    store.write_effect_in(&mut tx, &own).await.unwrap();
    shop.refund(&mut tx, leased).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(
        store.effects(&[leased.id]).await.unwrap(),
        from_ref(&confirmed)
    );
    assert_eq!(shop.state().await.name(), StateName::Succeeded);
    let mut tx = connection.begin().await.unwrap();
    let written = store.write_effect_in(&mut tx, &own).await;
    assert_eq!(
        written.unwrap(),
        EffectWritten::Already,
        "a repeated write is told as such although its lease is over"
    );
}
