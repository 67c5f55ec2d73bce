//! Which kinds and queues a claim serves: no others, in one order, and no queue starves another.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::job::JobState;
use surefoot_core::policy::Recovery;
use surefoot_core::port::{Claim, NewJob, Queues, Store};

use super::fixture::{
    LEASE, START, advance, at, claim, created, ids, job, order_key, queue, record, take, terms,
};

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

pub async fn queues_are_filtered(store: Arc<dyn Store>) {
    let of = |name: &str| NewJob {
        queue: queue(name),
        ..job("mail")
    };
    let waiting = created(&*store, &[of("a"), of("b"), of("c"), of("a")], START).await;
    let only = |names: &[&str]| Claim {
        queues: Queues::Only(names.iter().map(|name| queue(name)).collect()),
        ..claim(&["mail"], 10)
    };
    assert_eq!(take(&*store, &only(&[]), START).await, []);
    let leased = take(&*store, &only(&["b", "none"]), START).await;
    assert_eq!(ids(&leased), [waiting[1]]);
    let leased = take(&*store, &only(&["c", "a"]), START).await;
    assert_eq!(ids(&leased), [waiting[0], waiting[2], waiting[3]]);
    let future = NewJob {
        run_at: Some(at(60)),
        ..of("b")
    };
    created(&*store, &[future], START).await;
    assert_eq!(
        advance(&*store, &[], Some(&only(&["a"])), START)
            .await
            .next_due,
        None
    );
    assert_eq!(
        advance(&*store, &[], Some(&only(&["a", "b"])), START)
            .await
            .next_due,
        Some(at(60))
    );
}

pub async fn fair_over_queues(store: Arc<dyn Store>) {
    let of = |name: &str, priority: i16| NewJob {
        queue: queue(name),
        priority,
        ..job("mail")
    };
    let busy: Vec<_> = (0..300).map(|_| of("busy", 100)).collect();
    let calm: Vec<_> = (0..2).map(|_| of("calm", -100)).collect();
    let zero: Vec<_> = (0..1).map(|_| of("zero", 0)).collect();
    let busy = created(&*store, &busy, START).await;
    let calm = created(&*store, &calm, at(1)).await;
    let zero = created(&*store, &zero, at(2)).await;
    let first = take(&*store, &claim(&["mail"], 5), at(3)).await;
    assert_eq!(
        ids(&first),
        [busy[0], calm[0], zero[0], busy[1], calm[1]],
        "no-lost-intent: no queue starves another, whatever its length and priorities"
    );
    let rest = take(&*store, &claim(&["mail"], 3), at(3)).await;
    assert_eq!(ids(&rest), busy[2..5], "what is left is taken in order");
}

pub async fn what_may_not_run_uses_up_no_turn_of_its_queue(store: Arc<dyn Store>) {
    let lane = |new: NewJob| NewJob {
        queue: queue("calm"),
        order_key: Some(order_key("lane")),
        ..new
    };
    let head = lane(NewJob {
        run_at: Some(at(600)),
        ..job("mail")
    });
    let mut calm = vec![head];
    calm.extend((0..5).map(|_| lane(job("mail"))));
    calm.push(NewJob {
        queue: queue("calm"),
        ..job("mail")
    });
    let busy: Vec<_> = (0..10)
        .map(|_| NewJob {
            queue: queue("busy"),
            ..job("mail")
        })
        .collect();
    let busy = created(&*store, &busy, START).await;
    let calm = created(&*store, &calm, START).await;
    let leased = take(&*store, &claim(&["mail"], 2), at(1)).await;
    assert_eq!(
        ids(&leased),
        [busy[0], calm[6]],
        "no-lost-intent: each queue has its turn with the first job that may run"
    );
}

pub async fn a_claim_that_serves_two_kinds_is_one_order(store: Arc<dyn Store>) {
    let of = |kind: &str, priority: i16| NewJob {
        priority,
        ..job(kind)
    };
    let waiting = created(
        &*store,
        &[of("b", 1), of("a", 0), of("b", 2), of("a", 3)],
        START,
    )
    .await;
    let mut both = claim(&["a"], 10);
    both.kinds.push(terms("b"));
    let leased = take(&*store, &both, START).await;
    assert_eq!(
        ids(&leased),
        [waiting[3], waiting[2], waiting[0], waiting[1]],
        "kinds do not change the order"
    );
}
pub async fn each_kind_has_its_terms(store: Arc<dyn Store>) {
    created(&*store, &[job("mail"), job("refund"), job("grade")], START).await;
    let mut claim = claim(&["mail", "refund", "grade"], 10);
    claim.kinds[0].lease = Duration::from_micros(1);
    claim.kinds[1].recovery = Some(Recovery::AtMostOnce);
    claim.kinds[2].lease = Duration::from_secs(86_400);
    claim.kinds[2].recovery = Some(Recovery::Repeatable);
    let leased = take(&*store, &claim, at(1)).await;
    let terms: Vec<_> = leased
        .iter()
        .map(|job| (job.kind.as_str(), job.state.lease_until, job.state.recovery))
        .collect();
    assert_eq!(
        terms,
        [
            ("mail", at(1).after(Duration::from_micros(1)), None),
            ("refund", at(1).after(LEASE), Some(Recovery::AtMostOnce)),
            ("grade", at(86_401), Some(Recovery::Repeatable)),
        ]
    );
    for job in leased {
        let found = record(&*store, job.id).await.job;
        assert_eq!(
            found.state,
            JobState::Running(job.state),
            "the lease carries its recovery for whoever finds it lost"
        );
    }
}
