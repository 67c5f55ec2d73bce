//! Order keys: one at a time, first in first out, and a retry holds its place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use surefoot_core::id::{JobId, Tenant};
use surefoot_core::job::{DeadReason, StateName};
use surefoot_core::port::{By, Claim, NewJob, Queues, Replay, Steered, Store};

use super::fixture::{
    START, advance, applied, at, at_once, by, claim, created, dead, expire, ids, job, lost,
    order_key, permanent, queue, released, success, take, take_one, transient,
};

fn lane(kind_name: &str, name: &str) -> NewJob {
    NewJob {
        order_key: Some(order_key(name)),
        ..job(kind_name)
    }
}

pub async fn one_at_a_time_first_in_first_out(store: Arc<dyn Store>) {
    let urgent = NewJob {
        priority: 100,
        run_at: Some(START),
        ..lane("mail", "a")
    };
    let batch = [
        lane("mail", "a"),
        urgent,
        lane("mail", "b"),
        lane("mail", "a"),
        job("mail"),
    ];
    let waiting = created(&*store, &batch, at(1)).await;
    let first = take(&*store, &claim(&["mail"], 10), at(2)).await;
    assert_eq!(
        ids(&first),
        [waiting[0], waiting[2], waiting[4]],
        "order-kept: one job of an order key at a time, the first enqueued before the more urgent"
    );
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), at(3)).await,
        [],
        "order-kept: it runs, so the others wait"
    );
    let next = advance(
        &*store,
        &[success(&first[0], at(4))],
        Some(&claim(&["mail"], 10)),
        at(4),
    )
    .await
    .leased;
    assert_eq!(
        ids(&next),
        [waiting[1]],
        "order-kept: the next one runs when the first is done, in one call"
    );
    applied(&*store, &success(&next[0], at(5)), at(5)).await;
    assert_eq!(take_one(&*store, "mail", at(5)).await.id, waiting[3]);
}

pub async fn the_order_is_that_of_arrival_not_of_ids(store: Arc<dyn Store>) {
    let (low, high) = (lane("mail", "a"), lane("mail", "a"));
    created(&*store, std::slice::from_ref(&high), START).await;
    created(&*store, std::slice::from_ref(&low), START).await;
    let first = take_one(&*store, "mail", START).await;
    assert_eq!(
        first.id, high.id,
        "order-kept: what arrived first runs first, whatever its id"
    );
    applied(&*store, &success(&first, START), START).await;
    assert_eq!(take_one(&*store, "mail", START).await.id, low.id);
}

pub async fn a_retry_holds_its_key(store: Arc<dyn Store>) {
    let waiting = created(&*store, &[lane("mail", "a"), lane("mail", "a")], START).await;
    let first = take_one(&*store, "mail", START).await;
    applied(&*store, &transient(&first, START), START).await;
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), at(1)).await,
        [],
        "order-kept: a retry holds its key"
    );
    let again = take_one(&*store, "mail", at(600)).await;
    assert_eq!(again.id, waiting[0]);
    let late = at(10_000);
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), late).await,
        [],
        "order-kept: so does a lapsed lease"
    );
    applied(&*store, &lost(&again, late), late).await;
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), late).await,
        [],
        "order-kept: and a lost one"
    );
    let third = take_one(&*store, "mail", at(20_000)).await;
    assert_eq!(third.id, waiting[0]);
    applied(&*store, &released(&third, at(20_001)), at(20_001)).await;
    assert_eq!(
        take_one(&*store, "mail", at(20_001)).await.id,
        waiting[0],
        "order-kept: and one given back"
    );
}

pub async fn what_is_over_frees_its_key(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..4).map(|_| lane("mail", "a")).collect();
    let waiting = created(&*store, &batch, START).await;
    let first = take_one(&*store, "mail", START).await;
    applied(&*store, &permanent(&first, "no such account", START), START).await;
    let second = take_one(&*store, "mail", START).await;
    assert_eq!(
        second.id, waiting[1],
        "no-lost-intent: a dead letter frees its key"
    );
    store
        .cancel(waiting[2], &by("not needed"), START)
        .await
        .expect("cancel");
    applied(&*store, &success(&second, START), START).await;
    assert_eq!(
        take_one(&*store, "mail", START).await.id,
        waiting[3],
        "no-lost-intent: a cancelled job frees its key"
    );
}

pub async fn a_replayed_job_waits_for_the_one_that_runs(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..3).map(|_| lane("mail", "a")).collect();
    let waiting = created(&*store, &batch, START).await;
    let first = take_one(&*store, "mail", START).await;
    applied(&*store, &permanent(&first, "no such account", START), START).await;
    let second = take_one(&*store, "mail", START).await;
    replay(&*store, first.id, by("account made")).await;
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), at(2)).await,
        [],
        "order-kept: one at a time, also after a replay"
    );
    applied(&*store, &transient(&second, at(2)), at(2)).await;
    assert_eq!(
        take(&*store, &claim(&["mail"], 10), at(2)).await,
        [],
        "order-kept: a replay does not pass a retry"
    );
    let second = take_one(&*store, "mail", at(600)).await;
    assert_eq!(second.id, waiting[1]);
    applied(&*store, &success(&second, at(600)), at(600)).await;
    assert_eq!(
        take_one(&*store, "mail", at(600)).await.id,
        waiting[0],
        "order-kept: the oldest goes next"
    );
}

async fn replay(store: &dyn Store, job: JobId, by: By) {
    let answer = store
        .replay(job, &Replay { effect: None, by }, at(1))
        .await
        .expect("replay");
    assert_eq!(answer, Steered::Done);
}

pub async fn the_first_holds_its_key_wherever_it_waits(store: Arc<dyn Store>) {
    let heads = [
        NewJob {
            run_at: Some(at(86_400)),
            ..lane("mail", "later")
        },
        NewJob {
            queue: queue("paused"),
            ..lane("mail", "paused")
        },
        NewJob {
            queue: queue("elsewhere"),
            ..lane("mail", "elsewhere")
        },
        lane("strange", "strange"),
        NewJob {
            deadline_at: Some(at(1)),
            ..lane("mail", "over")
        },
    ];
    let followers: Vec<_> = heads
        .iter()
        .map(|head| NewJob {
            order_key: head.order_key.clone(),
            ..job("mail")
        })
        .collect();
    created(&*store, &heads, START).await;
    let followers = created(&*store, &followers, START).await;
    store
        .pause(&queue("paused"), &by("too many errors"), START)
        .await
        .expect("pause");
    let served = Queues::Only(["default", "paused"].map(queue).into());
    let claim = Claim {
        queues: served,
        ..claim(&["mail"], 10)
    };
    let none = take(&*store, &claim, at(2)).await;
    assert_eq!(
        ids(&none),
        [],
        "order-kept: the first enqueued goes first, also when it cannot run yet"
    );
    expire(&*store, at(2), 10).await;
    let leased = take(&*store, &claim, at(2)).await;
    assert_eq!(
        ids(&leased),
        [followers[4]],
        "no-lost-intent: an expired job frees its key"
    );
}

pub async fn keys_of_different_tenants_and_names_are_apart(store: Arc<dyn Store>) {
    let other = NewJob {
        tenant: Tenant::new("other").expect("a tenant"),
        ..lane("mail", "a")
    };
    let batch = [
        lane("mail", "a"),
        other,
        lane("mail", "A"),
        lane("refund", "a"),
    ];
    let waiting = created(&*store, &batch, START).await;
    let leased = take(&*store, &claim(&["mail", "refund"], 10), START).await;
    assert_eq!(
        ids(&leased),
        waiting[..3],
        "order-kept: an order key orders its tenant's jobs over all kinds, and nobody else's"
    );
}

pub async fn a_dead_letter_of_long_ago_holds_nothing(store: Arc<dyn Store>) {
    let free = dead(&*store, "mail", DeadReason::Permanent).await;
    created(&*store, &[lane("mail", "a")], START).await;
    let first = take_one(&*store, "mail", START).await;
    applied(&*store, &permanent(&first, "no", START), START).await;
    store
        .ignore(first.id, &by("known"), START)
        .await
        .expect("ignore");
    let later = created(&*store, &[lane("mail", "a")], at(1)).await[0];
    let leased = take_one(&*store, "mail", at(1)).await;
    assert_eq!(leased.id, later);
    assert_ne!(free, later);
    assert_eq!(
        super::fixture::state_name(&*store, later).await,
        StateName::Running
    );
}

pub async fn concurrent_claimers_keep_the_order(store: Arc<dyn Store>) {
    const LANES: usize = 5;
    const PER_LANE: usize = 12;
    let batch: Vec<_> = (0..LANES * PER_LANE)
        .map(|n| lane("mail", &format!("lane {}", n % LANES)))
        .collect();
    let waiting = created(&*store, &batch, START).await;
    let places: BTreeMap<JobId, (usize, usize)> = waiting
        .iter()
        .enumerate()
        .map(|(n, id)| (*id, (n % LANES, n / LANES)))
        .collect();
    let started = Arc::new(Mutex::new(Vec::new()));
    at_once(20, |_| {
        let (store, places, started) = (store.clone(), places.clone(), started.clone());
        async move {
            let mut settlements = Vec::new();
            // Each turn settles the jobs of the turn before and claims anew; bounded, so that a stall is a failure.
            for _ in 0..2_000 {
                let advanced =
                    advance(&*store, &settlements, Some(&claim(&["mail"], 3)), START).await;
                let taken = advanced.leased.iter().map(|job| places[&job.id]);
                let all_started = {
                    let mut started = started.lock().expect("no task failed");
                    started.extend(taken);
                    started.len() == LANES * PER_LANE
                };
                if all_started && advanced.leased.is_empty() {
                    break;
                }
                settlements = advanced
                    .leased
                    .iter()
                    .map(|job| success(job, START))
                    .collect();
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    let started = started.lock().expect("no task failed").clone();
    for lane in 0..LANES {
        let order: Vec<_> = started
            .iter()
            .filter(|(of, _)| *of == lane)
            .map(|(_, place)| *place)
            .collect();
        assert_eq!(
            order,
            (0..PER_LANE).collect::<Vec<_>>(),
            "order-kept: 20 claimers at once, and each order key ran in the order of enqueuing"
        );
    }
}
