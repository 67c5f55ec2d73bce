//! Lists: pages by id that stay true while jobs arrive, filters, and the bounds of a page.

use std::sync::Arc;

use surefoot_core::id::{JobId, Tenant};
use surefoot_core::job::{Job, JobState, StateName};
use surefoot_core::port::{BATCH_MAX, JobFilter, NewJob, PAGE_MAX, Store};

use super::fixture::{
    START, advance, at, claim, created, fresh_id, in_state, job, key, keyed, kind, queue, record,
    success, take,
};

async fn page(
    store: &dyn Store,
    filter: &JobFilter,
    before: Option<JobId>,
    limit: u32,
) -> Vec<JobId> {
    let page = store.jobs(filter, before, limit).await.expect("jobs");
    page.iter().map(|job| job.id).collect()
}

pub async fn pages_are_stable_while_jobs_arrive(store: Arc<dyn Store>) {
    let all = JobFilter::default();
    let batch: Vec<_> = (0..25).map(|_| job("mail")).collect();
    let mut expected = created(&*store, &batch, START).await;
    expected.reverse();
    let mut seen = Vec::new();
    let mut before = None;
    for _ in 0..5 {
        let some = page(&*store, &all, before, 6).await;
        before = some.last().copied().or(before);
        seen.extend(some);
        created(&*store, &[job("mail"), job("mail")], at(1)).await;
    }
    assert_eq!(
        seen, expected,
        "no-lost-intent: each job once, the latest first, whatever arrives meanwhile"
    );
    assert_eq!(page(&*store, &all, before, 6).await, []);
}

pub async fn pages_hold_jobs_of_every_state(store: Arc<dyn Store>) {
    let mut expected = Vec::new();
    for state in StateName::ALL {
        let id = in_state(&*store, job(&format!("kind-{}", state.as_str())), state).await;
        expected.insert(0, id);
    }
    let all = store
        .jobs(&JobFilter::default(), None, 100)
        .await
        .expect("jobs");
    for (job, id) in all.iter().zip(&expected) {
        assert_eq!(
            *job,
            record(&*store, *id).await.job,
            "a page shows each job as it is"
        );
    }
    assert_eq!(all.len(), expected.len());
    // Page by page, so that waiting and finished jobs are merged by id on each page.
    let mut seen = Vec::new();
    for _ in 0..=expected.len() {
        seen.extend(page(&*store, &JobFilter::default(), seen.last().copied(), 1).await);
    }
    assert_eq!(seen, expected);
    for state in StateName::ALL {
        let filter = JobFilter {
            state: Some(state),
            ..JobFilter::default()
        };
        let found = store.jobs(&filter, None, 100).await.expect("jobs");
        assert_eq!(
            found.iter().map(|job| job.state.name()).collect::<Vec<_>>(),
            [state]
        );
    }
}

pub async fn every_filter_that_is_set_must_match(store: Arc<dyn Store>) {
    let other = Tenant::new("other").expect("a tenant");
    let first = NewJob {
        queue: queue("slow"),
        ..keyed("mail", "k")
    };
    let batch = [
        first.clone(),
        NewJob {
            tenant: other.clone(),
            ..keyed("mail", "k")
        },
        keyed("refund", "k"),
        keyed("mail", "K"),
        job("mail"),
    ];
    let ids = created(&*store, &batch, START).await;
    let none = JobFilter::default;
    let of = |change: &dyn Fn(&mut JobFilter)| {
        let mut filter = none();
        change(&mut filter);
        filter
    };
    let cases = [
        (of(&|f| f.tenant = Some(other.clone())), vec![ids[1]]),
        (of(&|f| f.kind = Some(kind("refund"))), vec![ids[2]]),
        (of(&|f| f.queue = Some(queue("slow"))), vec![ids[0]]),
        (
            of(&|f| f.key = Some(key("k"))),
            vec![ids[2], ids[1], ids[0]],
        ),
        (
            of(&|f| (f.key, f.kind) = (Some(key("k")), Some(kind("mail")))),
            vec![ids[1], ids[0]],
        ),
        (
            of(&|f| (f.tenant, f.queue) = (Some(other.clone()), Some(queue("slow")))),
            vec![],
        ),
        (
            of(&|f| (f.state, f.kind) = (Some(StateName::Pending), Some(kind("refund")))),
            vec![ids[2]],
        ),
        (of(&|f| f.state = Some(StateName::Running)), vec![]),
    ];
    for (filter, expected) in cases {
        assert_eq!(
            page(&*store, &filter, None, 100).await,
            expected,
            "{filter:?}"
        );
    }
    // The same filters hold over what is finished.
    let mut claim = claim(&["mail", "refund"], 100);
    claim.queues = surefoot_core::port::Queues::All;
    let leased = take(&*store, &claim, START).await;
    let ends: Vec<_> = leased.iter().map(|job| success(job, START)).collect();
    advance(&*store, &ends, None, START).await;
    let filter = JobFilter {
        key: Some(key("k")),
        kind: Some(kind("mail")),
        ..none()
    };
    assert_eq!(page(&*store, &filter, None, 100).await, [ids[1], ids[0]]);
    let filter = JobFilter {
        state: Some(StateName::Succeeded),
        queue: Some(queue("slow")),
        ..none()
    };
    assert_eq!(page(&*store, &filter, None, 100).await, [ids[0]]);
}

pub async fn a_fingerprint_finds_dead_letters_only(store: Arc<dyn Store>) {
    let dead = in_state(&*store, job("mail"), StateName::Dead).await;
    let ignored = in_state(&*store, job("mail"), StateName::Ignored).await;
    in_state(&*store, job("mail"), StateName::Retrying).await;
    let JobState::Dead(death) = record(&*store, dead).await.job.state else {
        panic!("it is dead")
    };
    let filter = JobFilter {
        fingerprint: Some(death.fingerprint),
        ..JobFilter::default()
    };
    assert_eq!(page(&*store, &filter, None, 100).await, [dead]);
    let strange = surefoot_core::text::ErrorFingerprint::from_bits(!death.fingerprint.to_bits());
    let filter = JobFilter {
        fingerprint: Some(strange),
        ..JobFilter::default()
    };
    assert_eq!(page(&*store, &filter, None, 100).await, []);
    assert!(ignored > dead);
}

pub async fn a_page_is_bounded(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..BATCH_MAX).map(|_| job("mail")).collect();
    created(&*store, &batch, START).await;
    let all = JobFilter::default();
    assert_eq!(page(&*store, &all, None, 0).await, []);
    assert_eq!(
        page(&*store, &all, None, u32::MAX).await.len(),
        PAGE_MAX as usize
    );
    assert_eq!(
        page(&*store, &all, Some(batch[0].id), 10).await,
        [],
        "before is exclusive"
    );
    assert_eq!(
        page(&*store, &all, Some(batch[1].id), 10).await,
        [batch[0].id]
    );
}

pub async fn what_is_not_there_is_none(store: Arc<dyn Store>) {
    assert_eq!(store.job(fresh_id()).await.expect("job"), None);
    assert_eq!(
        store
            .find(&Tenant::single(), &kind("mail"), &key("k"))
            .await
            .expect("find"),
        None
    );
    let new = keyed("mail", "k");
    created(&*store, std::slice::from_ref(&new), START).await;
    let find = |tenant: &'static str, kind_name: &'static str, name: &'static str| {
        let store = store.clone();
        async move {
            let tenant = Tenant::new(tenant).expect("a tenant");
            store
                .find(&tenant, &kind(kind_name), &key(name))
                .await
                .expect("find")
        }
    };
    assert_eq!(find("default", "mail", "k").await, Some(new.id));
    assert_eq!(find("other", "mail", "k").await, None);
    assert_eq!(find("default", "refund", "k").await, None);
    assert_eq!(find("default", "mail", "K").await, None);
    let leased = take(&*store, &claim(&["mail"], 1), START).await;
    advance(&*store, &[success(&leased[0], at(1))], None, at(1)).await;
    assert_eq!(
        find("default", "mail", "k").await,
        Some(new.id),
        "a finished job still has its key"
    );
    let job: Job = record(&*store, new.id).await.job;
    assert_eq!(job.state.name(), StateName::Succeeded);
}
