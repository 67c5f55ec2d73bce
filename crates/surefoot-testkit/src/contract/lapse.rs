//! Lapsed leases: found by time, settled by epoch. A node that looked too early must never undo what was done since.

use std::sync::Arc;

use surefoot_core::job::{AttemptOutcome, DeadReason, JobState, StateName};
use surefoot_core::port::{BATCH_MAX, Extended, JobFilter, Settled, Store};

use super::fixture::{
    LEASE, START, advance, applied, at, at_once, by, claim, created, extended, job, lost, record,
    running, settled, state_name, success, take, take_one,
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

pub async fn what_is_found_lapsed_is_what_was_leased(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    store
        .cancel(leased.id, &by("mistake"), at(1))
        .await
        .expect("cancel");
    extended(&*store, &leased, at(50), at(2)).await;
    let mut expected = leased;
    expected.state.lease_until = at(50);
    expected.state.cancel_requested = true;
    assert_eq!(store.lapsed(at(51), 10).await.expect("lapsed"), [expected]);
    assert_eq!(store.lapsed(at(51), 0).await.expect("lapsed"), []);
}

/// Two callers at once, one settling a lapsed lease as lost: exactly one of them may win.
pub async fn a_lapse_and_an_extension_at_once_have_one_winner(store: Arc<dyn Store>) {
    for round in 0..20 {
        let leased = running(&*store, &format!("kind-{round}"), START).await;
        let late = at(1).after(LEASE);
        let held = at_once(2, |number| {
            let (store, leased) = (store.clone(), leased.clone());
            async move {
                if number == 0 {
                    extended(&*store, &leased, at(1_000), late).await != Extended::Lost
                } else {
                    settled(&*store, &lost(&leased, late), late).await == Settled::Applied
                }
            }
        })
        .await;
        assert_ne!(
            held[0], held[1],
            "no-double-effect: a lease is either held or lost, never both"
        );
        let expected = if held[0] {
            StateName::Running
        } else {
            StateName::Retrying
        };
        assert_eq!(state_name(&*store, leased.id).await, expected);
    }
}

pub async fn a_lapse_and_a_success_at_once_have_one_winner(store: Arc<dyn Store>) {
    for round in 0..20 {
        let leased = running(&*store, &format!("kind-{round}"), START).await;
        let late = at(1).after(LEASE);
        let answers = at_once(2, |number| {
            let (store, leased) = (store.clone(), leased.clone());
            async move {
                let end = if number == 0 {
                    success(&leased, late)
                } else {
                    lost(&leased, late)
                };
                settled(&*store, &end, late).await
            }
        })
        .await;
        let mut sorted = answers.clone();
        sorted.sort_by_key(|answer| *answer != Settled::Applied);
        assert_eq!(
            sorted,
            [Settled::Applied, Settled::Stale],
            "one-outcome: one of them settles it"
        );
        let won = answers[0] == Settled::Applied;
        let expected = if won {
            StateName::Succeeded
        } else {
            StateName::Retrying
        };
        assert_eq!(
            state_name(&*store, leased.id).await,
            expected,
            "one-outcome: and it is the winner's"
        );
    }
}

pub async fn a_crash_loop_ends_as_a_dead_letter(store: Arc<dyn Store>) {
    created(&*store, &[job("mail")], START).await;
    for crash in 1..=3_u64 {
        take_one(&*store, "mail", at(crash * 10_000)).await;
        let late = at(crash * 10_000 + 1_000);
        let found = store.lapsed(late, 10).await.expect("lapsed").remove(0);
        assert_eq!(u64::from(found.counts.crashed), crash - 1);
        applied(&*store, &lost(&found, late), late).await;
    }
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), at(100_000)).await,
        [],
        "what kills its workers runs no more"
    );
    let page = store
        .jobs(&JobFilter::default(), None, 10)
        .await
        .expect("jobs");
    let JobState::Dead(death) = &page[0].state else {
        panic!("it is a dead letter")
    };
    assert_eq!(death.reason, DeadReason::CrashLoop);
    assert_eq!(
        record(&*store, page[0].id).await.attempts.len(),
        3,
        "every-attempt-logged: each crash"
    );
}

pub async fn six_thousand_lapsed_jobs_are_all_found(store: Arc<dyn Store>) {
    let most = u32::try_from(BATCH_MAX).expect("it fits");
    for _ in 0..6 {
        let batch: Vec<_> = (0..BATCH_MAX).map(|_| job("mail")).collect();
        created(&*store, &batch, START).await;
        assert_eq!(
            take(&*store, &claim(&["mail"], most), START).await.len(),
            BATCH_MAX
        );
    }
    let late = at(1_000);
    for _ in 0..6 {
        let found = store.lapsed(late, most).await.expect("lapsed");
        assert_eq!(
            found.len(),
            BATCH_MAX,
            "no-lost-intent: none hides behind the others"
        );
        let settlements: Vec<_> = found.iter().map(|job| lost(job, late)).collect();
        let answers = advance(&*store, &settlements, None, late).await.settled;
        assert_eq!(answers, vec![Settled::Applied; BATCH_MAX]);
    }
    assert_eq!(
        store.lapsed(late, most).await.expect("lapsed"),
        [],
        "no-lost-intent: all were found"
    );
}
