//! The outcome of an attempt in the caller's own transaction: rows, outcome, effect and new jobs are one commit.

use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior};
use surefoot_core::effect::{
    Answer, Begin, Declared, Effect, EffectRecovery, EffectTerms, answered, begin,
};
use surefoot_core::error::StoreError;
use surefoot_core::failure::Failure;
use surefoot_core::job::{JobState, LeasedJob, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{EffectWrite, EffectWritten, Settled, Store};
use surefoot_core::settle::{Report, settle};
use surefoot_core::time::Roll;
use surefoot_store::NotSettled;
use surefoot_store::sqlite::{SqliteStore, store_error};

use super::fixture::{Place, START, at, claim, job, success, take};

/// A shop with a job that runs.
async fn shop() -> (Place, SqliteStore, LeasedJob) {
    let place = Place::new();
    let store = place.open().await;
    place
        .connect()
        .execute_batch("create table refunds (id integer primary key)")
        .unwrap();
    store.enqueue(&[job("refund")], START).await.unwrap();
    let leased = take(&store, "refund", 1).await.remove(0);
    (place, store, leased)
}

fn refunds(place: &Place) -> i64 {
    place
        .connect()
        .query_row("select count(*) from refunds", (), |row| row.get(0))
        .unwrap()
}

/// What a handler does at its end.
fn refund(tx: &Transaction<'_>, leased: &LeasedJob) -> Result<(), NotSettled> {
    tx.execute("insert into refunds default values", ())
        .map_err(store_error)?;
    SqliteStore::enqueue_in(tx, &job("mail"), at(2))?;
    SqliteStore::settle_in(tx, &success(leased, at(2)))
}

async fn state(store: &SqliteStore, leased: &LeasedJob) -> JobState {
    store.job(leased.id).await.unwrap().unwrap().job.state
}

async fn counts(store: &SqliteStore) -> Vec<(StateName, u64)> {
    let depth = store.depth(at(3)).await.unwrap();
    depth
        .counts
        .iter()
        .map(|line| (line.state, line.count))
        .collect()
}

#[tokio::test]
async fn rows_outcome_and_new_jobs_are_one_commit() {
    let (place, store, leased) = shop().await;
    let mut connection = place.connect();
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    refund(&tx, &leased).unwrap();
    tx.rollback().unwrap();
    assert_eq!(
        state(&store, &leased).await,
        JobState::Running(leased.state.clone())
    );
    assert_eq!(counts(&store).await, [(StateName::Running, 1)]);
    assert_eq!(refunds(&place), 0);

    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    refund(&tx, &leased).unwrap();
    tx.commit().unwrap();
    let expected = JobState::Succeeded {
        at: at(2),
        result: Payload::null(),
    };
    assert_eq!(state(&store, &leased).await, expected);
    assert_eq!(counts(&store).await, [(StateName::Pending, 1)]);
    assert_eq!(refunds(&place), 1);
    let later = [success(&leased, at(3))];
    let advanced = store.advance(&later, None, at(3)).await.unwrap();
    assert_eq!(
        advanced.settled,
        [Settled::Already],
        "the engine is told that it stands"
    );
    assert_eq!(
        state(&store, &leased).await,
        expected,
        "one-outcome: the first one stays"
    );
}

/// The engine hears of a failure after the handler's own transaction succeeded.
#[tokio::test]
async fn another_outcome_does_not_replace_the_one_that_was_committed() {
    let (_place, store, leased) = shop().await;
    let held = leased.clone();
    store.write(move |tx| refund(tx, &held)).await.unwrap();
    let report = Report::Failed(Failure::transient("the answer was lost"));
    let other = settle(&leased, &[], report, &JobPolicy::default(), at(3), Roll(0));
    let advanced = store.advance(&[other], None, at(3)).await.unwrap();
    assert_eq!(advanced.settled, [Settled::Stale]);
    assert_eq!(
        state(&store, &leased).await.name(),
        StateName::Succeeded,
        "one-outcome"
    );
}

#[tokio::test]
async fn a_lost_lease_takes_the_rows_with_it() {
    let (place, store, zombie) = shop().await;
    let lost = settle(
        &zombie,
        &[],
        Report::Lost,
        &JobPolicy::default(),
        at(60),
        Roll(0),
    );
    store.advance(&[lost], None, at(60)).await.unwrap();
    let stale = |refused: &Result<(), NotSettled>| {
        matches!(refused, Err(NotSettled::Stale { job, epoch })
            if (*job, *epoch) == (zombie.id, zombie.state.epoch))
    };
    let held = zombie.clone();
    let refused = store.write(move |tx| refund(tx, &held)).await;
    assert!(stale(&refused), "while it waits: {refused:?}");

    let leased = store
        .advance(&[], Some(&claim("refund", 1)), at(1000))
        .await
        .unwrap()
        .leased
        .remove(0);
    let held = zombie.clone();
    let refused = store.write(move |tx| refund(tx, &held)).await;
    assert!(stale(&refused), "while another holds it: {refused:?}");
    assert_eq!(
        state(&store, &zombie).await,
        JobState::Running(leased.state.clone()),
        "no-zombie-write"
    );
    assert_eq!(refunds(&place), 0, "no-zombie-write");
    assert_eq!(counts(&store).await, [(StateName::Running, 1)]);

    store.write(move |tx| refund(tx, &leased)).await.unwrap();
    assert_eq!(refunds(&place), 1);
}

/// The caller did not hear of its commit, and does it all again.
#[tokio::test]
async fn a_repeated_transaction_writes_its_rows_once() {
    let (place, store, leased) = shop().await;
    for round in 0..3 {
        let held = leased.clone();
        let answer = store.write(move |tx| refund(tx, &held)).await;
        match (round, &answer) {
            (0, Ok(())) | (1.., Err(NotSettled::Already { .. })) => {}
            (_, other) => panic!("round {round}: {other:?}"),
        }
    }
    assert_eq!(refunds(&place), 1);
    assert_eq!(counts(&store).await, [(StateName::Pending, 1)]);
}

/// An effect on its way, as it is on record before its call leaves.
async fn intended(store: &SqliteStore, leased: &LeasedJob) -> Effect {
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
    let Begin::Send(effect) = begin(None, &declared, leased, at(20), at(1)) else {
        panic!("nothing is known of it");
    };
    let write = EffectWrite {
        effect: *effect.clone(),
        fence: Some(leased.state.epoch),
        lease_until: None,
    };
    let written = store.write_effects(&[write], at(1)).await.unwrap();
    assert_eq!(written, [EffectWritten::Applied]);
    *effect
}

#[tokio::test]
async fn what_became_of_an_effect_is_in_the_same_commit() {
    let (place, store, leased) = shop().await;
    let intended = intended(&store, &leased).await;
    let answer = Answer::Applied {
        result: Payload::null(),
        cost: Some(5),
    };
    let confirmed = answered(&intended, answer, None, at(2));
    let end = |tx: &Transaction<'_>, epoch| {
        let write = EffectWrite {
            effect: confirmed.clone(),
            fence: Some(epoch),
            lease_until: None,
        };
        SqliteStore::write_effect_in(tx, &write)
    };
    let mut connection = place.connect();
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    assert_eq!(
        end(&tx, leased.state.epoch.next()).unwrap(),
        EffectWritten::Stale
    );
    assert_eq!(
        end(&tx, leased.state.epoch).unwrap(),
        EffectWritten::Applied
    );
    refund(&tx, &leased).unwrap();
    tx.rollback().unwrap();
    assert_eq!(store.effects(&[leased.id]).await.unwrap(), [intended]);

    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    end(&tx, leased.state.epoch).unwrap();
    refund(&tx, &leased).unwrap();
    tx.commit().unwrap();
    assert_eq!(
        store.effects(&[leased.id]).await.unwrap(),
        std::slice::from_ref(&confirmed)
    );
    assert_eq!(state(&store, &leased).await.name(), StateName::Succeeded);
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    assert_eq!(
        end(&tx, leased.state.epoch).unwrap(),
        EffectWritten::Already,
        "a repeated write is told as such although its lease is over"
    );
}

/// An error of the caller's own kind undoes the outcome too.
#[tokio::test]
async fn a_fault_after_the_outcome_undoes_it() {
    let (place, store, leased) = shop().await;
    let held = leased.clone();
    let refused: Result<(), NotSettled> = store
        .write(move |tx| {
            refund(tx, &held)?;
            Err(StoreError::Refused("changed my mind".into()).into())
        })
        .await;
    assert!(
        matches!(refused, Err(NotSettled::Store(StoreError::Refused(_)))),
        "{refused:?}"
    );
    assert_eq!(
        state(&store, &leased).await,
        JobState::Running(leased.state.clone())
    );
    assert_eq!(counts(&store).await, [(StateName::Running, 1)]);
    assert_eq!(refunds(&place), 0);
}
