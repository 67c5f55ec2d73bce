//! The fence: nothing written under a lost lease changes anything, and what was written once is not written twice.

use std::sync::Arc;

use surefoot_core::failure::Failure;
use surefoot_core::id::Epoch;
use surefoot_core::job::{AttemptOutcome, LeasedJob};
use surefoot_core::port::{Settled, Store};
use surefoot_core::settle::{Report, Settlement};
use surefoot_core::time::Timestamp;

use super::fixture::{
    LEASE, START, advance, applied, at, decided, lost, permanent, record, released, running,
    settled, success, take_one, transient,
};

/// One settlement into each state that a running job can go to, and one that takes the lease to be lost.
fn settlements(leased: &LeasedJob, now: Timestamp) -> Vec<Settlement> {
    vec![
        success(leased, now),
        transient(leased, now),
        permanent(leased, "no such account", now),
        released(leased, now),
        decided(leased, Report::Failed(Failure::cancelled("stopped")), now),
        lost(leased, now),
    ]
}

/// The same but for the release: what a holder may still send after its job was given back.
fn late_settlements(leased: &LeasedJob, now: Timestamp) -> Vec<Settlement> {
    let mut late = settlements(leased, now);
    late.retain(|settlement| settlement.outcome != AttemptOutcome::Released);
    late
}

pub async fn a_stale_settlement_changes_nothing(store: Arc<dyn Store>) {
    let first = running(&*store, "mail", START).await;
    applied(&*store, &released(&first, at(1)), at(1)).await;
    refused(
        &*store,
        &late_settlements(&first, at(2)),
        "no-zombie-write: the job waits",
    )
    .await;

    let second = take_one(&*store, "mail", at(3)).await;
    assert!(
        second.state.epoch > first.state.epoch,
        "no-zombie-write: epochs rise"
    );
    // Long after the second lease ends, so that only the epoch can refuse what takes the lease to be lost.
    let late = late_settlements(&first, at(10_000));
    refused(
        &*store,
        &late,
        "no-zombie-write: the job runs under a later epoch",
    )
    .await;
    let mut early = late_settlements(&second, at(10_000));
    for settlement in &mut early {
        settlement.fence.epoch = Epoch(second.state.epoch.0 + 1);
    }
    refused(
        &*store,
        &early,
        "no-zombie-write: the epoch was never given",
    )
    .await;

    applied(&*store, &success(&second, at(5)), at(5)).await;
    refused(
        &*store,
        &late,
        "one-outcome: a terminal outcome never changes",
    )
    .await;
}

/// Each of the settlements is stale, alone and in one batch, and the job's whole record stays as it was.
async fn refused(store: &dyn Store, settlements: &[Settlement], why: &str) {
    let job = settlements[0].job;
    let before = record(store, job).await;
    for stale in settlements {
        assert_eq!(
            settled(store, stale, at(4)).await,
            Settled::Stale,
            "{why} ({:?})",
            stale.outcome
        );
        assert_eq!(
            record(store, job).await,
            before,
            "{why} ({:?})",
            stale.outcome
        );
    }
    let answers = advance(store, settlements, None, at(4)).await.settled;
    assert_eq!(
        answers,
        vec![Settled::Stale; settlements.len()],
        "{why} (in one batch)"
    );
    assert_eq!(record(store, job).await, before, "{why} (in one batch)");
}

pub async fn a_repeated_settlement_is_already(store: Arc<dyn Store>) {
    let now = at(1).after(LEASE);
    for number in 0..6 {
        let leased = running(&*store, &format!("kind-{number}"), START).await;
        let settlement = settlements(&leased, now).remove(number);
        applied(&*store, &settlement, now).await;
        let before = record(&*store, leased.id).await;
        assert_eq!(
            settled(&*store, &settlement, now).await,
            Settled::Already,
            "one-outcome: the same call repeated ({:?})",
            settlement.outcome
        );
        assert_eq!(
            record(&*store, leased.id).await,
            before,
            "one-outcome: a repeated call changes nothing"
        );
    }
}
