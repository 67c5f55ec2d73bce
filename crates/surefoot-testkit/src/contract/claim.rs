//! Claim: who is taken, in which order, and what a lease is.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::id::Epoch;
use surefoot_core::job::{Attempt, Counts, JobState, LeasedJob, Run};
use surefoot_core::policy::Recovery;
use surefoot_core::port::{BATCH_MAX, NewJob, Store};

use super::fixture::{
    LEASE, START, advance, applied, at, at_once, claim, created, ids, job, order_key, record, take,
    take_one, transient,
};

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
        late: None,
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

pub async fn what_is_due_but_may_not_run_is_not_due_next(store: Arc<dyn Store>) {
    let due = NewJob {
        run_at: Some(at(60)),
        ..job("mail")
    };
    let later = NewJob {
        run_at: Some(at(90)),
        ..job("mail")
    };
    created(&*store, &[due, later], START).await;
    let none = advance(&*store, &[], Some(&claim(&["mail"], 0)), at(60)).await;
    // A time that is not after now would make an engine ask again and again.
    assert_eq!(
        (ids(&none.leased), none.next_due),
        (vec![], Some(at(90))),
        "the next due time is ahead"
    );
}

/// The clocks of two nodes agree to a millisecond at best, and the one that hands in may be ahead.
pub async fn what_a_clock_ahead_handed_in_is_due_next(store: Arc<dyn Store>) {
    let ahead = at(60).after(Duration::from_micros(1));
    let shared = NewJob {
        concurrency_key: Some("shop".parse().expect("a concurrency key")),
        ..job("mail")
    };
    for fresh in [job("mail"), shared] {
        let due = created(&*store, &[job("mail")], at(60)).await;
        let early = created(&*store, &[fresh], ahead).await;
        let first = advance(&*store, &[], Some(&claim(&["mail"], 10)), at(60)).await;
        assert_eq!(
            (ids(&first.leased), first.next_due),
            (due, Some(ahead)),
            "nobody announces it again, so the claim that came too early is told when"
        );
        let none = advance(&*store, &[], Some(&claim(&["mail"], 10)), at(60)).await;
        assert_eq!((ids(&none.leased), none.next_due), (vec![], Some(ahead)));
        let then = advance(&*store, &[], Some(&claim(&["mail"], 10)), ahead).await;
        assert_eq!((ids(&then.leased), then.next_due), (early, None));
    }
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

pub async fn a_claim_takes_no_more_than_it_asks(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..BATCH_MAX).map(|_| job("mail")).collect();
    let waiting = created(&*store, &batch, START).await;
    assert_eq!(take(&*store, &claim(&["mail"], 0), START).await, []);
    assert_eq!(
        ids(&take(&*store, &claim(&["mail"], 3), START).await),
        waiting[..3]
    );
    created(
        &*store,
        &[job("mail"), job("mail"), job("mail"), job("mail")],
        START,
    )
    .await;
    let most = u32::try_from(BATCH_MAX).expect("it fits");
    assert_eq!(
        ids(&take(&*store, &claim(&["mail"], most), START).await)[..BATCH_MAX - 3],
        waiting[3..]
    );
    assert_eq!(take(&*store, &claim(&["mail"], most), START).await.len(), 1);
}

pub async fn a_retry_is_claimed_when_due_under_a_higher_epoch(store: Arc<dyn Store>) {
    created(&*store, &[job("mail")], START).await;
    let mut now = START;
    for number in 1..=3 {
        let leased = take_one(&*store, "mail", now).await;
        assert_eq!(
            leased.state.epoch,
            Epoch(number),
            "no-zombie-write: epochs rise with each claim"
        );
        assert_eq!(i64::from(leased.counts.starts), number);
        assert_eq!(i64::from(leased.counts.failed), number - 1);
        let retry = transient(&leased, now);
        applied(&*store, &retry, now).await;
        let JobState::Retrying { due_at, error } = record(&*store, leased.id).await.job.state
        else {
            panic!("it tries again")
        };
        assert_eq!(error.as_str(), "try again");
        let early = advance(
            &*store,
            &[],
            Some(&claim(&["mail"], 1)),
            due_at.before(Duration::from_micros(1)),
        )
        .await;
        assert_eq!(
            (early.leased, early.next_due),
            (vec![], Some(due_at)),
            "a retry waits for its time"
        );
        now = due_at;
    }
}

pub async fn no_attempt_starts_after_the_deadline(store: Arc<dyn Store>) {
    let by = |deadline: u64| NewJob {
        deadline_at: Some(at(deadline)),
        ..job("mail")
    };
    let waiting = created(&*store, &[by(10), by(11), job("mail")], START).await;
    let leased = take(&*store, &claim(&["mail"], 10), at(10)).await;
    assert_eq!(
        ids(&leased),
        waiting[1..],
        "a deadline is over at its own instant"
    );
}

pub async fn what_may_not_run_does_not_stand_in_the_way(store: Arc<dyn Store>) {
    let high = |new: NewJob| NewJob {
        priority: 100,
        ..new
    };
    let lane = Some(order_key("lane"));
    let blocked = |_| {
        high(NewJob {
            order_key: lane.clone(),
            ..job("mail")
        })
    };
    let later = |_| {
        high(NewJob {
            run_at: Some(at(600)),
            ..job("mail")
        })
    };
    let over = |_| {
        high(NewJob {
            deadline_at: Some(at(1)),
            ..job("mail")
        })
    };
    let head = created(
        &*store,
        &[NewJob {
            order_key: lane.clone(),
            run_at: Some(at(600)),
            ..job("mail")
        }],
        START,
    )
    .await;
    for batch in [
        (0..BATCH_MAX).map(blocked).collect::<Vec<_>>(),
        (0..BATCH_MAX).map(later).collect(),
        (0..BATCH_MAX).map(over).collect(),
    ] {
        created(&*store, &batch, START).await;
    }
    let free = created(&*store, &[job("mail"), job("mail")], at(2)).await;
    let leased = take(&*store, &claim(&["mail"], 10), at(3)).await;
    assert_eq!(
        ids(&leased),
        free,
        "no-lost-intent: 3,000 jobs that may not run do not hide one that may"
    );
    assert_eq!(record(&*store, head[0]).await.attempts, []);
}

pub async fn concurrent_claimers_never_share_a_job(store: Arc<dyn Store>) {
    const JOBS: usize = 500;
    let batch: Vec<_> = (0..JOBS).map(|_| job("mail")).collect();
    let waiting = created(&*store, &batch, START).await;
    let taken = at_once(50, |_| {
        let store = store.clone();
        async move {
            let mut mine: Vec<LeasedJob> = Vec::new();
            // A claim may come away empty while others hold what it looked at, so it asks again.
            for _ in 0..20 {
                mine.extend(take(&*store, &claim(&["mail"], 3), START).await);
            }
            mine
        }
    })
    .await;
    let all: Vec<_> = taken.iter().flatten().map(|job| job.id).collect();
    let distinct: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(
        distinct.len(),
        all.len(),
        "no-double-effect: 50 claimers, and no job was given twice"
    );
    let rest = take(&*store, &claim(&["mail"], 1000), START).await;
    assert_eq!(
        all.len() + rest.len(),
        waiting.len(),
        "no-lost-intent: each job was given once"
    );
    assert!(
        taken
            .iter()
            .flatten()
            .all(|job| job.state.epoch == Epoch::NEVER.next() && job.counts.starts == 1)
    );
}
