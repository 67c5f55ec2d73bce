//! Claim: who is taken, in which order, and what a lease is.

use std::sync::Arc;

use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::{Attempt, Counts, JobState, LeasedJob, Run};
use surefoot_core::policy::Recovery;
use surefoot_core::port::{NewJob, Store};

use super::fixture::{LEASE, START, advance, at, claim, created, job, record, take, take_one};

fn ids(leased: &[LeasedJob]) -> Vec<JobId> {
    leased.iter().map(|job| job.id).collect()
}

pub async fn a_claimed_job_runs_under_the_terms(store: Arc<dyn Store>) {
    let id = created(&*store, &[job("refund")], START).await[0];
    let mut claim = claim(&["refund"], 10);
    claim.kinds[0].recovery = Some(Recovery::SameKey);
    let leased = take(&*store, &claim, at(5)).await;
    let run = Run {
        epoch: Epoch::NEVER.next(),
        worker: claim.worker.clone(),
        started_at: at(5),
        lease_until: at(5).after(LEASE),
        recovery: Some(Recovery::SameKey),
        cancel_requested: false,
    };
    assert_eq!(leased.len(), 1);
    assert_eq!((leased[0].id, &leased[0].state), (id, &run));
    assert_eq!(
        leased[0].counts,
        Counts {
            starts: 1,
            ..Counts::default()
        }
    );
    let found = record(&*store, id).await;
    assert_eq!(
        found.job,
        leased[0].clone().map_state(JobState::Running),
        "the claimer holds what the store holds"
    );
    let attempt = Attempt {
        number: 1,
        epoch: run.epoch,
        worker: run.worker,
        started_at: at(5),
        ended_at: None,
        outcome: None,
        error: None,
    };
    assert_eq!(
        found.attempts,
        [attempt],
        "every-attempt-logged: a running attempt is on record"
    );
}

pub async fn a_running_job_is_not_claimed_again(store: Arc<dyn Store>) {
    created(&*store, &[job("refund"), job("refund")], START).await;
    let first = take_one(&*store, "refund", at(1)).await;
    let second = take_one(&*store, "refund", at(1)).await;
    assert_ne!(
        first.id, second.id,
        "no-double-effect: a running job is nobody else's"
    );
    let none = take(&*store, &claim(&["refund"], 10), at(1_000)).await;
    assert_eq!(
        ids(&none),
        [],
        "no-double-effect: a claim takes no running job, not even one whose lease lapsed"
    );
}

pub async fn kinds_are_filtered(store: Arc<dyn Store>) {
    let strange: Vec<_> = (0..200)
        .map(|_| NewJob {
            priority: 100,
            ..job("strange")
        })
        .collect();
    let strange = created(&*store, &strange, START).await;
    let known = created(&*store, &[job("mail"), job("refund")], at(1)).await;
    let leased = take(&*store, &claim(&["mail", "refund"], 10), at(2)).await;
    assert_eq!(
        ids(&leased),
        known,
        "no-lost-intent: kinds that nobody here runs do not stand in the way"
    );
    assert_eq!(
        record(&*store, strange[0]).await.job.state,
        JobState::Pending { due_at: START },
        "no-lost-intent: a job of an unknown kind is left alone"
    );
    assert_eq!(ids(&take(&*store, &claim(&[], 10), at(2)).await), []);
}

pub async fn a_job_in_the_future_waits_and_says_when(store: Arc<dyn Store>) {
    let later = NewJob {
        run_at: Some(at(60)),
        ..job("mail")
    };
    let latest = NewJob {
        run_at: Some(at(90)),
        ..job("mail")
    };
    let foreign = NewJob {
        run_at: Some(at(30)),
        ..job("strange")
    };
    created(&*store, &[latest.clone(), later.clone(), foreign], START).await;
    let claim = claim(&["mail"], 10);
    let early = advance(&*store, &[], Some(&claim), at(59)).await;
    assert_eq!((ids(&early.leased), early.next_due), (vec![], Some(at(60))));
    let due = advance(&*store, &[], Some(&claim), at(60)).await;
    assert_eq!(
        (ids(&due.leased), due.next_due),
        (vec![later.id], Some(at(90))),
        "a job is due at its time"
    );
    let last = advance(&*store, &[], Some(&claim), at(90)).await;
    assert_eq!((ids(&last.leased), last.next_due), (vec![latest.id], None));
    assert_eq!(advance(&*store, &[], None, at(90)).await.next_due, None);
}

pub async fn higher_priority_then_due_time_then_age(store: Arc<dyn Store>) {
    let of = |priority: i16, run_at: Option<u64>| NewJob {
        priority,
        run_at: run_at.map(at),
        ..job("mail")
    };
    let low = of(-1, None);
    let late = of(0, Some(3));
    // The newer one has the lower id: age is the order of arrival, not of ids.
    let newer = of(0, Some(2));
    let older = of(0, Some(2));
    let high = of(100, Some(4));
    let expected = [high.id, older.id, newer.id, late.id, low.id];
    created(&*store, &[low, late, older, newer, high], START).await;
    let leased = take(&*store, &claim(&["mail"], 10), at(5)).await;
    assert_eq!(
        ids(&leased),
        expected,
        "within a queue: priority, then due time, then age"
    );
}
