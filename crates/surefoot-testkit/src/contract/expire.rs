//! Expire: a waiting job whose deadline passed becomes a dead letter, and nothing else does.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::job::{DeadReason, JobState, StateName};
use surefoot_core::port::{ExpiredJob, NewJob, Store};
use surefoot_core::settle::expired;

use super::fixture::{
    START, applied, at, claim, created, expire, in_state, job, record, running, state_name,
    success, take, take_one, transient,
};

fn until(deadline: u64) -> NewJob {
    NewJob {
        deadline_at: Some(at(deadline)),
        ..job("mail")
    }
}

pub async fn a_waiting_job_expires_at_its_deadline(store: Arc<dyn Store>) {
    let waiting = created(&*store, &[until(10), until(11), job("mail")], START).await;
    let early = at(10).before(Duration::from_micros(1));
    assert_eq!(
        expire(&*store, early, 10).await,
        [],
        "a deadline holds to its instant"
    );
    assert_eq!(expire(&*store, at(10), 10).await, [waiting[0]]);
    assert_eq!(expire(&*store, at(10), 10).await, [], "it expires once");
    let found = record(&*store, waiting[0]).await;
    assert_eq!(
        found.job.state,
        JobState::Dead(expired(&found.job.kind, 0, None, at(10))),
        "as core decided"
    );
    assert!(found.attempts.is_empty() && found.actions.is_empty());
    assert_eq!(state_name(&*store, waiting[1]).await, StateName::Pending);
    assert_eq!(take(&*store, &claim(&["mail"], 10), at(10)).await.len(), 2);
}

pub async fn a_retry_expires_with_what_it_said(store: Arc<dyn Store>) {
    let id = in_state(&*store, until(100), StateName::Retrying).await;
    let JobState::Retrying { error, .. } = record(&*store, id).await.job.state else {
        panic!("it retries")
    };
    assert_eq!(expire(&*store, at(100), 10).await, [id]);
    let found = record(&*store, id).await;
    assert_eq!(
        found.job.state,
        JobState::Dead(expired(&found.job.kind, 0, Some(&error), at(100)))
    );
    assert_eq!(
        found.attempts.len(),
        1,
        "every-attempt-logged: its attempt stays on record"
    );
    assert_eq!(found.job.counts.failed, 1);
}

pub async fn an_unknown_outcome_does_not_expire_as_a_failure(store: Arc<dyn Store>) {
    created(&*store, &[until(100)], START).await;
    let leased = take_one(&*store, "mail", START).await;
    let mut retry = transient(&leased, START);
    retry.counts.unknown = 1;
    applied(&*store, &retry, START).await;
    let expired = store.expire(at(100), 10).await.expect("expire");
    let found = record(&*store, leased.id).await;
    assert_eq!(found.job.counts.unknown, 1);
    let JobState::Dead(death) = found.job.state else {
        panic!("it expired")
    };
    assert_eq!(
        death.reason,
        DeadReason::OutcomeUnknown,
        "honest-unknown: its effect may have happened"
    );
    let told = ExpiredJob {
        job: leased.id,
        kind: found.job.kind,
        reason: death.reason,
    };
    assert_eq!(expired, [told], "and whoever watches is told so");
}

pub async fn what_runs_or_is_settled_does_not_expire(store: Arc<dyn Store>) {
    let over = |kind: &str| NewJob {
        deadline_at: Some(at(100)),
        ..job(kind)
    };
    let mut before = Vec::new();
    for state in StateName::ALL {
        if !matches!(state, StateName::Pending | StateName::Retrying) {
            let id = in_state(&*store, over(&format!("kind-{}", state.as_str())), state).await;
            before.push(record(&*store, id).await);
        }
    }
    assert_eq!(expire(&*store, at(200), 10).await, []);
    for known in before {
        assert_eq!(
            record(&*store, known.job.id).await,
            known,
            "one-outcome: a {:?} job",
            known.job.state.name()
        );
    }
}

pub async fn a_holder_may_settle_after_the_deadline(store: Arc<dyn Store>) {
    created(
        &*store,
        &[NewJob {
            deadline_at: Some(at(5)),
            ..job("kept")
        }],
        START,
    )
    .await;
    let leased = super::fixture::take_one(&*store, "kept", START).await;
    assert_eq!(expire(&*store, at(10), 10).await, []);
    applied(&*store, &success(&leased, at(11)), at(11)).await;
    assert_eq!(state_name(&*store, leased.id).await, StateName::Succeeded);
    running(&*store, "other", START).await;
}

pub async fn no_more_expire_than_asked(store: Arc<dyn Store>) {
    let mut waiting = created(
        &*store,
        &[until(1), until(2), until(3), until(4), until(5)],
        START,
    )
    .await;
    assert_eq!(expire(&*store, at(10), 0).await, []);
    let mut all = Vec::new();
    for expected in [2, 2, 1, 0] {
        let some = expire(&*store, at(10), 2).await;
        assert_eq!(
            some.len(),
            expected,
            "bounded, and the rest with the next call"
        );
        all.extend(some);
    }
    all.sort();
    waiting.sort();
    assert_eq!(all, waiting, "each expired once");
}
