//! Lapsed leases: found by time, settled by epoch. A node that looked too early must never undo what was done since.

use std::sync::Arc;

use surefoot_core::job::{AttemptOutcome, StateName};
use surefoot_core::port::{Settled, Store};

use super::fixture::{
    LEASE, START, applied, at, claim, created, extended, job, lost, record, running, settled,
    state_name, success, take, take_one,
};

pub async fn lapsed_jobs_are_found_longest_ended_first(store: Arc<dyn Store>) {
    created(&*store, &[job("mail"), job("mail"), job("mail")], START).await;
    let third = take_one(&*store, "mail", at(30)).await;
    let first = take_one(&*store, "mail", at(10)).await;
    let second = take_one(&*store, "mail", at(20)).await;
    let lapsed = |now, limit| {
        let store = store.clone();
        async move { store.lapsed(now, limit).await.expect("lapsed") }
    };
    assert_eq!(
        lapsed(at(10).after(LEASE), 10).await,
        [],
        "a lease holds to its very end"
    );
    assert_eq!(
        lapsed(at(11).after(LEASE), 10).await,
        std::slice::from_ref(&first)
    );
    assert_eq!(
        lapsed(at(1_000), 2).await,
        [first.clone(), second.clone()],
        "the longest ended first, bounded"
    );
    assert_eq!(lapsed(at(1_000), 10).await, [first.clone(), second, third]);
    applied(&*store, &lost(&first, at(1_000)), at(1_000)).await;
    let found = record(&*store, first.id).await;
    assert_eq!(found.job.state.name(), StateName::Retrying);
    assert_eq!(
        found.job.counts.crashed, 1,
        "a crash counts apart from failures"
    );
    assert_eq!(found.job.counts.failed, 0);
    assert_eq!(
        found.attempts.len(),
        1,
        "every-attempt-logged: a lost attempt has its record"
    );
    assert_eq!(found.attempts[0].outcome, Some(AttemptOutcome::Lost));
    assert_eq!(lapsed(at(1_000), 10).await.len(), 2);
}

pub async fn an_extended_lease_is_not_settled_as_lost(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let found = store.lapsed(at(100), 10).await.expect("lapsed").remove(0);
    extended(&*store, &leased, at(200), at(100)).await;
    let before = record(&*store, leased.id).await;
    assert_eq!(
        settled(&*store, &lost(&found, at(100)), at(101)).await,
        Settled::Stale,
        "no-double-effect: a lease that was extended since it was found lapsed is not lost"
    );
    assert_eq!(
        settled(&*store, &lost(&found, at(200)), at(200)).await,
        Settled::Stale,
        "it holds to its very end"
    );
    assert_eq!(
        record(&*store, leased.id).await,
        before,
        "no-double-effect: nothing was written"
    );
    applied(&*store, &lost(&found, at(201)), at(201)).await;
}

pub async fn a_finished_job_is_not_settled_as_lost(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let found = store.lapsed(at(100), 10).await.expect("lapsed").remove(0);
    applied(&*store, &success(&leased, at(100)), at(100)).await;
    let before = record(&*store, leased.id).await;
    assert_eq!(
        settled(&*store, &lost(&found, at(100)), at(101)).await,
        Settled::Stale,
        "one-outcome: a job that finished since it was found lapsed stays finished"
    );
    assert_eq!(record(&*store, leased.id).await, before);
    assert_eq!(state_name(&*store, leased.id).await, StateName::Succeeded);
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), at(1_000)).await,
        [],
        "no-double-effect: it does not run again"
    );
}
