//! Concurrency limits: how many jobs of a queue, a kind, and a kind with a concurrency key run at once, over all
//! claimers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use surefoot_core::id::{ConcurrencyKey, JobId, Tenant};
use surefoot_core::port::{Claim, NewJob, Store};

use super::fixture::{
    START, advance, applied, at, at_once, claim, created, ids, job, lost, queue, released, success,
    take, terms, transient,
};

fn sharing(kind_name: &str, name: &str) -> NewJob {
    NewJob {
        concurrency_key: Some(ConcurrencyKey::new(name).expect("a key")),
        ..job(kind_name)
    }
}

fn of_kind(max: u32) -> Claim {
    let mut claim = claim(&["mail"], 100);
    claim.kinds[0].concurrency_max = Some(max);
    claim
}

fn of_key(max: u32) -> Claim {
    let mut claim = claim(&["mail"], 100);
    claim.kinds[0].concurrency_per_key_max = Some(max);
    claim
}

fn of_queue(name: &str, max: u32) -> Claim {
    let mut claim = claim(&["mail"], 100);
    claim.queue_limits.insert(queue(name), max);
    claim
}

pub async fn a_queue_has_its_limit(store: Arc<dyn Store>) {
    let of = |name: &str| NewJob {
        queue: queue(name),
        ..job("mail")
    };
    let batch = [of("a"), of("a"), of("a"), of("b"), of("b"), of("b")];
    let waiting = created(&*store, &batch, START).await;
    let leased = take(&*store, &of_queue("a", 2), START).await;
    assert_eq!(
        ids(&leased),
        [waiting[0], waiting[3], waiting[1], waiting[4], waiting[5]],
        "a limit holds within one batch, and only for the queue that it names"
    );
    assert_eq!(
        take(&*store, &of_queue("a", 2), START).await,
        [],
        "a limit holds over all claims"
    );
    let next = advance(
        &*store,
        &[success(&leased[0], at(1))],
        Some(&of_queue("a", 2)),
        at(1),
    )
    .await;
    assert_eq!(
        ids(&next.leased),
        [waiting[2]],
        "what is settled makes room, in the same call"
    );
}

pub async fn a_kind_has_its_limit(store: Arc<dyn Store>) {
    let batch = [job("mail"), job("mail"), job("mail"), job("refund")];
    let waiting = created(&*store, &batch, START).await;
    let mut both = of_kind(2);
    both.kinds.push(terms("refund"));
    let leased = take(&*store, &both, START).await;
    assert_eq!(
        ids(&leased),
        [waiting[0], waiting[1], waiting[3]],
        "a limit holds within one batch, for its kind"
    );
    assert_eq!(
        take(&*store, &both, START).await,
        [],
        "a limit holds over all claims"
    );
    applied(&*store, &transient(&leased[0], START), START).await;
    assert_eq!(
        ids(&take(&*store, &both, START).await),
        [waiting[2]],
        "a retry that waits takes no room"
    );
    assert_eq!(
        ids(&take(&*store, &of_kind(3), at(600)).await),
        [waiting[0]],
        "the claimer's own limit counts"
    );
}

pub async fn a_concurrency_key_has_its_limit(store: Arc<dyn Store>) {
    let other_tenant = NewJob {
        tenant: Tenant::new("other").expect("a tenant"),
        ..sharing("mail", "a")
    };
    let batch = [
        sharing("mail", "a"),
        sharing("mail", "a"),
        sharing("mail", "b"),
        sharing("refund", "a"),
        other_tenant,
        job("mail"),
        job("mail"),
    ];
    let waiting = created(&*store, &batch, START).await;
    let mut both = of_key(1);
    both.kinds.push(terms("refund"));
    let leased = take(&*store, &both, START).await;
    let mut expected = waiting.clone();
    expected.remove(1);
    assert_eq!(
        ids(&leased),
        expected,
        "a concurrency key limits the jobs of its tenant and kind, and no others"
    );
    assert_eq!(
        take(&*store, &both, START).await,
        [],
        "a limit holds over all claims"
    );
    applied(&*store, &released(&leased[0], START), START).await;
    assert_eq!(
        take(&*store, &both, START).await.len(),
        1,
        "what is given back makes room"
    );
}

pub async fn all_limits_hold_at_once(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..20)
        .map(|n| sharing("mail", if n < 15 { "a" } else { "b" }))
        .collect();
    let waiting = created(&*store, &batch, START).await;
    let mut claim = of_kind(6);
    claim.kinds[0].concurrency_per_key_max = Some(4);
    claim.queue_limits.insert(queue("default"), 7);
    let leased = every_claim(&*store, &claim).await;
    assert_eq!(
        leased
            .iter()
            .filter(|id| waiting[..15].contains(id))
            .count(),
        4,
        "the key's limit holds"
    );
    assert_eq!(leased.len(), 6, "the kind's limit holds and is used up");
    claim.queue_limits.insert(queue("default"), 6);
    claim.kinds[0].concurrency_max = Some(20);
    claim.kinds[0].concurrency_per_key_max = None;
    assert_eq!(
        every_claim(&*store, &claim).await,
        [],
        "the queue's limit holds"
    );
}

/// More claims than any case here has jobs that fit its limits.
const CLAIMS_MAX: usize = 50;

/// What is claimed until a claim takes nothing: a store may need more than one to fill what the limits leave.
async fn every_claim(store: &dyn Store, claim: &Claim) -> Vec<JobId> {
    let mut all = Vec::new();
    for _ in 0..CLAIMS_MAX {
        let leased = take(store, claim, START).await;
        if leased.is_empty() {
            return all;
        }
        all.extend(ids(&leased));
    }
    panic!("{CLAIMS_MAX} claims take more than there is")
}

pub async fn a_lapsed_lease_counts_until_it_is_settled(store: Arc<dyn Store>) {
    created(&*store, &[job("mail"), job("mail")], START).await;
    let leased = take(&*store, &of_kind(1), START).await;
    let late = at(10_000);
    assert_eq!(
        take(&*store, &of_kind(1), late).await,
        [],
        "nobody knows yet that its holder is gone"
    );
    let next = advance(&*store, &[lost(&leased[0], late)], Some(&of_kind(1)), late).await;
    assert_eq!(next.leased.len(), 1);
}

pub async fn what_does_not_fit_does_not_stand_in_the_way(store: Arc<dyn Store>) {
    let high: Vec<_> = (0..1000)
        .map(|_| NewJob {
            priority: 100,
            ..sharing("mail", "full")
        })
        .collect();
    created(&*store, &high, START).await;
    let free = created(
        &*store,
        &[sharing("mail", "free"), job("mail"), job("refund")],
        START,
    )
    .await;
    let mut claim = of_key(1);
    claim.kinds.push(terms("refund"));
    let leased = every_claim(&*store, &claim).await;
    assert_eq!(leased.len(), 4);
    assert!(
        free.iter().all(|id| leased.contains(id)),
        "no-lost-intent: jobs that find no room do not hide one that has it"
    );
}

/// Twenty claimers take and settle; never may more than `max` run, and in the end all must have run.
async fn hammered(store: Arc<dyn Store>, batch: Vec<NewJob>, claim: Claim, max: usize) {
    let jobs = batch.len();
    created(&*store, &batch, START).await;
    let running = Arc::new(AtomicUsize::new(0));
    let done = Arc::new(AtomicUsize::new(0));
    at_once(20, |_| {
        let (store, claim) = (store.clone(), claim.clone());
        let (running, done) = (running.clone(), done.clone());
        async move {
            for _ in 0..2_000 {
                if done.load(Ordering::SeqCst) == jobs {
                    break;
                }
                let leased = take(&*store, &claim, START).await;
                let now = running.fetch_add(leased.len(), Ordering::SeqCst) + leased.len();
                assert!(now <= max, "{now} run at once where {max} may");
                tokio::task::yield_now().await;
                running.fetch_sub(leased.len(), Ordering::SeqCst);
                let settlements: Vec<_> = leased.iter().map(|job| success(job, START)).collect();
                advance(&*store, &settlements, None, START).await;
                done.fetch_add(leased.len(), Ordering::SeqCst);
            }
        }
    })
    .await;
    assert_eq!(
        done.load(Ordering::SeqCst),
        jobs,
        "no-lost-intent: a limit delays, it loses nothing"
    );
}

pub async fn concurrent_claimers_keep_a_queue_limit(store: Arc<dyn Store>) {
    hammered(
        store,
        (0..60).map(|_| job("mail")).collect(),
        of_queue("default", 3),
        3,
    )
    .await;
}

pub async fn concurrent_claimers_keep_a_kind_limit(store: Arc<dyn Store>) {
    hammered(store, (0..60).map(|_| job("mail")).collect(), of_kind(3), 3).await;
}

pub async fn concurrent_claimers_keep_a_key_limit(store: Arc<dyn Store>) {
    let batch = (0..60)
        .map(|n| sharing("mail", if n % 2 == 0 { "even" } else { "odd" }))
        .collect();
    hammered(store, batch, of_key(2), 4).await;
}
