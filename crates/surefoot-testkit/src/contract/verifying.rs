//! Verifying: a job of which an effect may have happened runs again to ask, whatever its deadline, and is neither
//! withdrawn nor made dead before the answer.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::failure::Failure;
use surefoot_core::job::{Job, JobState, LeasedJob, StateName};
use surefoot_core::port::{
    Action, ActionVerb, Advanced, Cancelled, Claim, JobFilter, NewJob, Replay, ReplayEffect,
    Settled, Steered, Store,
};
use surefoot_core::settle::{Next, Report};

use super::fixture::{
    START, advance, applied, at, at_once, by, claim, created, decided, extended, fresh_id, ids,
    in_state, job, lost, order_key, payload, permanent, queue, record, released, running, settled,
    state, state_name, success, take, take_one, transient, verifying,
};

/// Enqueues a job, runs it and leaves it verifying, due at ten seconds after [`START`].
async fn asking(store: &dyn Store, new: NewJob) -> LeasedJob {
    created(store, std::slice::from_ref(&new), START).await;
    let leased = take_one(store, new.kind.as_str(), START).await;
    assert_eq!(leased.id, new.id);
    applied(store, &verifying(&leased, at(10), START), START).await;
    leased
}

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

pub async fn it_can_go_wherever_a_running_job_can(store: Arc<dyn Store>) {
    let ends: [(fn(&LeasedJob) -> Next, StateName); 6] = [
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
        store.expire(at(100), 10).await.expect("expire"),
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
    assert_eq!(store.expire(at(200), 10).await.expect("expire"), [asked.id]);
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

/// Asks to cancel a job, and gives the answer.
async fn cancel(store: &dyn Store, asked: &LeasedJob, second: u64) -> Cancelled {
    let by = by("no longer needed");
    let answer = store.cancel(asked.id, &by, at(second)).await;
    answer.expect("cancel")
}

pub async fn a_request_is_told_with_the_next_claim(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("refund")).await;
    let before = record(&*store, asked.id).await;
    for second in [1, 2] {
        assert_eq!(cancel(&*store, &asked, second).await, Cancelled::Requested);
    }
    let found = record(&*store, asked.id).await;
    assert_eq!(
        found.job, before.job,
        "honest-unknown: what may have happened cannot be withdrawn"
    );
    let action = Action {
        verb: ActionVerb::Cancel,
        at: at(1),
        by: by("no longer needed"),
    };
    assert_eq!(
        found.actions,
        std::slice::from_ref(&action),
        "recorded once"
    );
    let again = take_one(&*store, "refund", at(10)).await;
    assert!(again.state.cancel_requested, "its next holder is told");
    assert_eq!(
        state(&*store, asked.id).await,
        JobState::Running(again.state.clone())
    );
    assert!(matches!(
        extended(&*store, &again, at(60), at(11)).await,
        surefoot_core::port::Extended::Held {
            cancel_requested: true,
            ..
        }
    ));
    assert_eq!(cancel(&*store, &asked, 12).await, Cancelled::Requested);
    assert_eq!(record(&*store, asked.id).await.actions, [action]);
    let found = store.lapsed(at(1_000), 10).await.expect("lapsed");
    assert!(found[0].state.cancel_requested, "and whoever finds it lost");
}

pub async fn a_request_cancels_what_would_run_again(store: Arc<dyn Store>) {
    let ends: [fn(&LeasedJob) -> Next; 2] = [
        |_| Next::Pending { due_at: at(11) },
        |_| Next::Retrying {
            due_at: at(11),
            error: "it did not happen".into(),
        },
    ];
    for next in ends {
        let asked = asking(&*store, job("refund")).await;
        assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
        let again = take_one(&*store, "refund", at(10)).await;
        let mut settlement = transient(&again, at(11));
        settlement.next = next(&again);
        applied(&*store, &settlement, at(11)).await;
        assert_eq!(
            state(&*store, asked.id).await,
            JobState::Cancelled {
                at: at(11),
                reason: settlement.error.expect("it said something"),
            },
            "no-lost-intent: an order that was taken is carried out"
        );
    }
}

pub async fn a_request_stays_while_it_is_verifying(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    assert_eq!(cancel(&*store, &leased, 1).await, Cancelled::Requested);
    applied(&*store, &verifying(&leased, at(10), at(2)), at(2)).await;
    for second in [10, 20, 30] {
        let again = take_one(&*store, "refund", at(second)).await;
        assert!(
            again.state.cancel_requested,
            "no-lost-intent: what was asked of an earlier holder is told to the next"
        );
        let next = verifying(&again, at(second + 10), at(second));
        applied(&*store, &next, at(second)).await;
        assert_eq!(cancel(&*store, &leased, second).await, Cancelled::Requested);
    }
    let actions = record(&*store, leased.id).await.actions;
    assert_eq!(actions.len(), 1, "recorded once: {actions:?}");
    let found = take_one(&*store, "refund", at(40)).await;
    applied(&*store, &lost(&found, at(1_000)), at(1_000)).await;
    assert_eq!(
        state_name(&*store, leased.id).await,
        StateName::Cancelled,
        "no-lost-intent: also where the last holder is lost"
    );
}

pub async fn a_request_ends_where_the_job_ends(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("done")).await;
    assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
    let again = take_one(&*store, "done", at(10)).await;
    applied(&*store, &success(&again, at(11)), at(11)).await;
    assert_eq!(
        state_name(&*store, asked.id).await,
        StateName::Succeeded,
        "one-outcome: it happened"
    );

    let asked = asking(&*store, job("dead")).await;
    assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
    let again = take_one(&*store, "dead", at(10)).await;
    applied(&*store, &permanent(&again, "no", at(11)), at(11)).await;
    assert_eq!(state_name(&*store, asked.id).await, StateName::Dead);
    let replay = Replay {
        effect: Some(ReplayEffect::Same),
        by: by("it must run"),
    };
    let replayed = store.replay(asked.id, &replay, at(12)).await;
    assert_eq!(replayed.expect("replay"), Steered::Done);
    let third = take_one(&*store, "dead", at(12)).await;
    assert!(!third.state.cancel_requested, "a person wants it to run");
    applied(&*store, &verifying(&third, at(13), at(12)), at(12)).await;
    let fourth = take_one(&*store, "dead", at(13)).await;
    assert!(!fourth.state.cancel_requested);
}

pub async fn a_request_and_a_claim_at_once_are_both_heard(store: Arc<dyn Store>) {
    for round in 0..20 {
        let kind_name = format!("kind-{round}");
        let asked = asking(&*store, job(&kind_name)).await;
        let leased = at_once(2, |number| {
            let (store, asked, kind_name) = (store.clone(), asked.clone(), kind_name.clone());
            async move {
                if number == 0 {
                    assert_eq!(cancel(&*store, &asked, 10).await, Cancelled::Requested);
                    Vec::new()
                } else {
                    take(&*store, &claim(&[&kind_name], 1), at(10)).await
                }
            }
        })
        .await
        .remove(1);
        // A claim passes over what another transaction holds.
        let leased = match leased.first() {
            Some(leased) => leased.clone(),
            None => take_one(&*store, &kind_name, at(10)).await,
        };
        applied(&*store, &transient(&leased, at(11)), at(11)).await;
        assert_eq!(
            state_name(&*store, asked.id).await,
            StateName::Cancelled,
            "no-lost-intent: an order that was taken is carried out"
        );
    }
}

pub async fn only_what_is_verifying_is_hastened(store: Arc<dyn Store>) {
    for wanted in StateName::ALL {
        let kind_name = format!("kind-{}", wanted.as_str());
        let new = NewJob {
            run_at: (wanted == StateName::Pending).then_some(at(50)),
            ..job(&kind_name)
        };
        let id = in_state(&*store, new, wanted).await;
        let before = record(&*store, id).await;
        let hastened = store.hasten(id, at(2)).await.expect("hasten");
        assert_eq!(hastened, wanted == StateName::Verifying, "{wanted:?}");
        let mut expected = before;
        if let JobState::Verifying { due_at, .. } = &mut expected.job.state {
            *due_at = at(2);
        }
        assert_eq!(record(&*store, id).await, expected, "{wanted:?}");
    }
    assert!(!store.hasten(fresh_id(), at(2)).await.expect("hasten"));
}

pub async fn it_is_never_put_off(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("refund")).await;
    let due_at = async || match state(&*store, asked.id).await {
        JobState::Verifying { due_at, .. } => due_at,
        other => panic!("it is verifying: {other:?}"),
    };
    for (now, expected) in [
        (at(20), at(10)),
        (at(10), at(10)),
        (at(4), at(4)),
        (at(7), at(4)),
    ] {
        assert!(store.hasten(asked.id, now).await.expect("hasten"));
        assert_eq!(due_at().await, expected);
    }
    let depth = store.depth(at(4)).await.expect("depth");
    assert_eq!(depth.oldest_due, Some(at(4)));
    assert_eq!(take(&*store, &claim(&["refund"], 5), at(3)).await, []);
    let again = take_one(&*store, "refund", at(4)).await;
    assert!(
        !store.hasten(asked.id, at(4)).await.expect("hasten"),
        "it runs"
    );
    applied(&*store, &success(&again, at(5)), at(5)).await;
}

pub async fn a_hastened_job_keeps_what_was_asked_of_it(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("refund")).await;
    assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
    assert!(store.hasten(asked.id, at(2)).await.expect("hasten"));
    let again = take_one(&*store, "refund", at(2)).await;
    assert!(again.state.cancel_requested);
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
