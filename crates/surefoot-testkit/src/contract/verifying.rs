//! Verifying: a job of which an effect may have happened runs again to ask, whatever its deadline, and nothing ends it
//! before the answer.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::failure::Failure;
use surefoot_core::job::{Job, JobState, LeasedJob, StateName};
use surefoot_core::port::{
    Advanced, Cancelled, Claim, JobFilter, NewJob, Replay, ReplayEffect, Settled, Steered, Store,
};
use surefoot_core::settle::{Next, Report};

use super::fixture::{
    START, advance, applied, asking, at, by, claim, created, decided, expire, ids, job, lost,
    order_key, payload, permanent, queue, record, released, running, settled, state, state_name,
    success, take, take_one, transient, verifying,
};

pub async fn it_is_claimed_when_due_under_a_higher_epoch(store: Arc<dyn Store>) {
    let first = asking(&*store, job("refund")).await;
    let known = JobState::Verifying {
        due_at: at(10),
        error: "no answer yet".into(),
    };
    assert_eq!(state(&*store, first.id).await, known);
    let early = at(10).before(Duration::from_micros(1));
    let waiting = advance(&*store, &[], Some(&claim(&["refund"], 5)), early).await;
    let expected = Advanced {
        next_due: Some(at(10)),
        ..Advanced::default()
    };
    assert_eq!(waiting, expected, "it waits for its time and says when");
    let second = take_one(&*store, "refund", at(10)).await;
    assert_eq!(second.id, first.id);
    assert!(
        second.state.epoch > first.state.epoch,
        "no-zombie-write: epochs rise"
    );
    assert_eq!(second.counts.starts, 2);
    assert!(!second.state.cancel_requested);
    let found = record(&*store, first.id).await;
    assert_eq!(
        found.attempts.len(),
        2,
        "every-attempt-logged: the question has its record"
    );
    assert_eq!(found.attempts[0].error, Some("no answer yet".into()));
    assert_eq!(found.attempts[1].outcome, None);
}

pub async fn a_repeated_settlement_into_verifying_is_already(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let settlement = verifying(&leased, at(10), START);
    applied(&*store, &settlement, START).await;
    assert_eq!(settled(&*store, &settlement, START).await, Settled::Already);
    let second = take_one(&*store, "refund", at(10)).await;
    let before = record(&*store, leased.id).await;
    let late = success(&leased, at(11));
    assert_eq!(
        settled(&*store, &late, at(11)).await,
        Settled::Stale,
        "no-zombie-write"
    );
    assert_eq!(record(&*store, leased.id).await, before);
    applied(&*store, &success(&second, at(12)), at(12)).await;
}

/// What is decided of a question that was asked.
type Decide = fn(&LeasedJob) -> Next;

pub async fn it_can_go_wherever_a_running_job_can(store: Arc<dyn Store>) {
    let ends: [(Decide, StateName); 6] = [
        (|job| success(job, at(11)).next, StateName::Succeeded),
        (|job| transient(job, at(11)).next, StateName::Retrying),
        (|job| released(job, at(11)).next, StateName::Pending),
        (|job| permanent(job, "no", at(11)).next, StateName::Dead),
        (
            |job| verifying(job, at(20), at(11)).next,
            StateName::Verifying,
        ),
        (
            |job| decided(job, Report::Failed(Failure::cancelled("x")), at(11)).next,
            StateName::Cancelled,
        ),
    ];
    for (next, expected) in ends {
        let kind_name = format!("kind-{}", expected.as_str());
        asking(&*store, job(&kind_name)).await;
        let leased = take_one(&*store, &kind_name, at(10)).await;
        let mut settlement = verifying(&leased, at(20), at(11));
        settlement.next = next(&leased);
        applied(&*store, &settlement, at(11)).await;
        assert_eq!(state_name(&*store, leased.id).await, expected);
    }
}

pub async fn a_question_that_was_lost_is_found_lapsed(store: Arc<dyn Store>) {
    asking(&*store, job("refund")).await;
    let second = take_one(&*store, "refund", at(10)).await;
    assert_eq!(
        store.lapsed(at(1_000), 10).await.expect("lapsed"),
        std::slice::from_ref(&second)
    );
    applied(&*store, &lost(&second, at(1_000)), at(1_000)).await;
    assert_eq!(record(&*store, second.id).await.job.counts.crashed, 1);
}

pub async fn it_holds_its_order_key(store: Arc<dyn Store>) {
    let of = || NewJob {
        order_key: Some(order_key("account-1")),
        ..job("refund")
    };
    let first = asking(&*store, of()).await;
    let second = created(&*store, &[of()], at(1)).await[0];
    assert_eq!(
        take(&*store, &claim(&["refund"], 5), at(9)).await,
        [],
        "order-kept: the first may have happened, and is asked about before the second"
    );
    let again = take(&*store, &claim(&["refund"], 5), at(10)).await;
    assert_eq!(ids(&again), [first.id]);
    applied(&*store, &success(&again[0], at(11)), at(11)).await;
    let next = take(&*store, &claim(&["refund"], 5), at(11)).await;
    assert_eq!(ids(&next), [second]);
}

pub async fn it_counts_under_a_limit_only_when_it_runs(store: Arc<dyn Store>) {
    let of = || NewJob {
        concurrency_key: Some("shop".parse().expect("a concurrency key")),
        ..job("refund")
    };
    let asked = asking(&*store, of()).await;
    let limits: [fn(&mut Claim); 3] = [
        |claim| claim.queue_limits = [(queue("default"), 1)].into(),
        |claim| claim.kinds[0].concurrency_max = Some(1),
        |claim| claim.kinds[0].concurrency_per_key_max = Some(1),
    ];
    for limit in limits {
        let mut claim = claim(&["refund"], 5);
        limit(&mut claim);
        let fresh = created(&*store, &[of()], at(1)).await[0];
        let leased = take(&*store, &claim, at(5)).await;
        assert_eq!(
            ids(&leased),
            [fresh],
            "what waits for an answer takes no place"
        );
        assert_eq!(
            take(&*store, &claim, at(10)).await,
            [],
            "and is not claimed where none is free"
        );
        applied(&*store, &success(&leased[0], at(10)), at(10)).await;
        let again = take(&*store, &claim, at(10)).await;
        assert_eq!(ids(&again), [asked.id]);
        let other = created(&*store, &[of()], at(10)).await[0];
        assert_eq!(
            take(&*store, &claim, at(10)).await,
            [],
            "it runs, so it counts"
        );
        applied(&*store, &verifying(&again[0], at(10), at(10)), at(10)).await;
        let cancelled = store.cancel(other, &by("a test order"), at(10)).await;
        assert_eq!(cancelled.expect("cancel"), Cancelled::Done);
    }
}

pub async fn a_paused_queue_asks_nothing(store: Arc<dyn Store>) {
    asking(&*store, job("refund")).await;
    let paused = store.pause(&queue("default"), &by("down"), at(1)).await;
    paused.expect("pause");
    assert_eq!(take(&*store, &claim(&["refund"], 5), at(20)).await, []);
    store.resume(&queue("default")).await.expect("resume");
    assert_eq!(take(&*store, &claim(&["refund"], 5), at(20)).await.len(), 1);
}

pub async fn it_is_asked_about_whatever_its_deadline(store: Arc<dyn Store>) {
    let until = |deadline: u64| NewJob {
        deadline_at: Some(at(deadline)),
        ..job("refund")
    };
    let asked = asking(&*store, until(5)).await;
    let before = record(&*store, asked.id).await;
    assert_eq!(
        expire(&*store, at(100), 10).await,
        [],
        "honest-unknown: it is never made dead while nobody knows"
    );
    assert_eq!(record(&*store, asked.id).await, before);
    let early = advance(&*store, &[], Some(&claim(&["refund"], 5)), at(6)).await;
    assert_eq!((early.leased.len(), early.next_due), (0, Some(at(10))));
    let again = take_one(&*store, "refund", at(100)).await;
    assert_eq!((again.id, again.deadline_at), (asked.id, Some(at(5))));
    let mut retry = transient(&again, at(101));
    retry.next = Next::Retrying {
        due_at: at(102),
        error: "not there".into(),
    };
    applied(&*store, &retry, at(101)).await;
    assert_eq!(
        take(&*store, &claim(&["refund"], 5), at(200)).await,
        [],
        "what is known not to have happened starts no more"
    );
    assert_eq!(expire(&*store, at(200), 10).await, [asked.id]);
}

pub async fn it_is_claimed_by_priority_and_due_time_as_any_job(store: Arc<dyn Store>) {
    let with = |priority| NewJob {
        priority,
        ..job("refund")
    };
    let asked = asking(&*store, with(0)).await.id;
    let waiting = created(&*store, &[with(-1), with(1), with(0)], at(11)).await;
    let leased = take(&*store, &claim(&["refund"], 5), at(12)).await;
    assert_eq!(ids(&leased), [waiting[1], asked, waiting[2], waiting[0]]);
}

pub async fn it_is_listed_and_counted(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("refund")).await;
    asking(&*store, job("other")).await;
    created(&*store, &[job("refund")], at(60)).await;
    let filter = JobFilter {
        state: Some(StateName::Verifying),
        kind: Some(asked.kind.clone()),
        ..JobFilter::default()
    };
    let page = store.jobs(&filter, None, 10).await.expect("jobs");
    let known: Vec<Job> = vec![record(&*store, asked.id).await.job];
    assert_eq!(page, known);
    let depth = store.depth(at(30)).await.expect("depth");
    assert_eq!(depth.oldest_due, Some(at(10)), "it waits, and is due");
    let counted: Vec<_> = depth
        .counts
        .iter()
        .map(|line| (line.kind.as_str(), line.state, line.count))
        .collect();
    assert_eq!(
        counted,
        [
            ("other", StateName::Verifying, 1),
            ("refund", StateName::Pending, 1),
            ("refund", StateName::Verifying, 1),
        ]
    );
}

pub async fn it_is_not_steered_as_a_dead_letter(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("refund")).await;
    let before = record(&*store, asked.id).await;
    let replay = Replay {
        effect: Some(ReplayEffect::New),
        by: by("again"),
    };
    let refused = Steered::Refused(StateName::Verifying);
    let replayed = store.replay(asked.id, &replay, at(1)).await;
    assert_eq!(replayed.expect("replay"), refused);
    let ignored = store.ignore(asked.id, &by("enough"), at(1)).await;
    assert_eq!(ignored.expect("ignore"), refused);
    let edited = store
        .edit(asked.id, &payload("2"), &by("typo"), at(1))
        .await;
    assert_eq!(edited.expect("edit"), refused);
    assert_eq!(record(&*store, asked.id).await, before);
}
