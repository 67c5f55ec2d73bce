//! Contention: batches that overlap in opposite orders end, and end with the right answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use surefoot_core::id::JobId;
use surefoot_core::job::StateName;
use surefoot_core::port::{Cancelled, Enqueued, JobFilter, Settled, Store};

use super::fixture::{
    START, advance, at, at_once, by, claim, created, job, keyed, released, state_name, success,
    take, transient,
};

pub async fn overlapping_enqueues_in_opposite_orders(store: Arc<dyn Store>) {
    for round in 0..10 {
        let answers = at_once(6, |number| {
            let store = store.clone();
            async move {
                let mut batch: Vec<_> = (0..40)
                    .map(|n| keyed("refund", &format!("{round}-{n}")))
                    .collect();
                if number % 2 == 1 {
                    batch.reverse();
                }
                let mut answers = store.enqueue(&batch, START).await.expect("enqueue");
                if number % 2 == 1 {
                    answers.reverse();
                }
                answers
            }
        })
        .await;
        for n in 0..40 {
            let made = answers
                .iter()
                .filter(|answers| matches!(answers[n], Enqueued::Created(_)))
                .count();
            assert_eq!(
                made, 1,
                "no-double-effect: key {n} of round {round} is one job"
            );
            let holders: BTreeSet<JobId> = answers.iter().map(|answers| answers[n].job()).collect();
            assert_eq!(holders.len(), 1, "and all are told the same one");
        }
    }
}

pub async fn overlapping_settlements_in_opposite_orders(store: Arc<dyn Store>) {
    for _ in 0..10 {
        let batch: Vec<_> = (0..40).map(|_| job("mail")).collect();
        created(&*store, &batch, START).await;
        let leased = Arc::new(take(&*store, &claim(&["mail"], 40), START).await);
        let answers = at_once(6, |number| {
            let (store, leased) = (store.clone(), leased.clone());
            async move {
                let mut ends: Vec<_> = leased.iter().map(|job| success(job, at(1))).collect();
                if number % 2 == 1 {
                    ends.reverse();
                }
                let claim = claim(&["mail"], 10);
                let advanced = advance(&*store, &ends, Some(&claim), at(1)).await;
                assert_eq!(
                    advanced.leased,
                    [],
                    "no-double-effect: what is done is not claimed"
                );
                advanced.settled
            }
        })
        .await;
        let applied = answers
            .iter()
            .flatten()
            .filter(|answer| **answer == Settled::Applied)
            .count();
        let already = answers
            .iter()
            .flatten()
            .filter(|answer| **answer == Settled::Already)
            .count();
        assert_eq!(
            (applied, already),
            (40, 200),
            "one-outcome: each is settled once, and all are told so"
        );
    }
}

/// All the verbs at once over the same jobs, as on a bad day. Each job is in some lawful state in the end.
pub async fn all_verbs_at_once(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..60).map(|n| keyed("mail", &format!("k-{n}"))).collect();
    let ids = Arc::new(created(&*store, &batch, START).await);
    at_once(8, |number| {
        let (store, ids, batch) = (store.clone(), ids.clone(), batch.clone());
        async move {
            for turn in 0..12_usize {
                match (number + turn) % 4 {
                    0 | 1 => {
                        let leased = take(&*store, &claim(&["mail"], 20), at(turn as u64)).await;
                        let ends: Vec<_> = leased
                            .iter()
                            .rev()
                            .enumerate()
                            .map(|(n, job)| match n % 3 {
                                0 => released(job, START),
                                1 => transient(job, START),
                                _ => success(job, START),
                            })
                            .collect();
                        let settled = advance(&*store, &ends, None, START).await.settled;
                        assert_eq!(
                            settled,
                            vec![Settled::Applied; ends.len()],
                            "no-zombie-write: holders settle"
                        );
                    }
                    2 => {
                        let id = ids[(number * 7 + turn) % ids.len()];
                        let answer = store
                            .cancel(id, &by("bad day"), START)
                            .await
                            .expect("cancel");
                        assert_ne!(answer, Cancelled::NotFound);
                    }
                    _ => {
                        let answers = store.enqueue(&batch, START).await.expect("enqueue");
                        assert!(
                            answers
                                .iter()
                                .all(|answer| matches!(answer, Enqueued::Created(_)))
                        );
                        store.depth(START).await.expect("depth");
                        store.lapsed(at(1), 10).await.expect("lapsed");
                    }
                }
            }
        }
    })
    .await;
    for id in ids.iter() {
        let state = state_name(&*store, *id).await;
        assert!(
            !matches!(state, StateName::Running | StateName::Dead),
            "no-lost-intent: {state:?}"
        );
    }
    let all = store
        .jobs(&JobFilter::default(), None, 100)
        .await
        .expect("jobs");
    assert_eq!(all.len(), 60, "no-double-effect: and there are no more");
}
