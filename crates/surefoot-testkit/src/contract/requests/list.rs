//! Lists and counts, for people.

use std::sync::Arc;

use surefoot_core::id::Tenant;
use surefoot_core::port::{PAGE_MAX, RequestDepth, RequestFilter, RequestHead, Requests};
use surefoot_core::request::{Identity, RequestId, RequestKey, RequestStateName};

use super::fixture::{START, arrival, arrival_of, at, claimed, in_state, known, run};

async fn page(
    store: &dyn Requests,
    filter: &RequestFilter,
    before: Option<RequestId>,
    limit: u32,
) -> Vec<RequestHead> {
    store
        .requests(filter, before, limit)
        .await
        .expect("requests")
}

pub async fn an_empty_store_has_nothing(store: Arc<dyn Requests>) {
    assert_eq!(known(&*store, "k").await, None);
    assert_eq!(page(&*store, &RequestFilter::default(), None, 10).await, []);
    assert_eq!(
        store
            .due_requests(at(1000), 10)
            .await
            .expect("due_requests"),
        []
    );
    let depth = store.request_depth().await.expect("request_depth");
    assert_eq!(depth, RequestDepth::default());
}

pub async fn the_latest_come_first_in_pages(store: Arc<dyn Requests>) {
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(claimed(&*store, &format!("k-{number}")).await.id);
    }
    ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
    let all = RequestFilter::default();
    let of = |page: Vec<RequestHead>| page.into_iter().map(|head| head.id).collect::<Vec<_>>();
    assert_eq!(of(page(&*store, &all, None, 10).await), ids);
    assert_eq!(of(page(&*store, &all, None, 2).await), ids[..2]);
    claimed(&*store, "later").await;
    assert_eq!(
        of(page(&*store, &all, Some(ids[1]), 2).await),
        ids[2..4],
        "stable while others arrive"
    );
    assert_eq!(of(page(&*store, &all, Some(ids[3]), 2).await), ids[4..]);
}

pub async fn every_filter_that_is_set_must_match(store: Arc<dyn Requests>) {
    let mut requests = Vec::new();
    for name in RequestStateName::ALL {
        requests.push(in_state(&*store, name.as_str(), name).await);
    }
    let tenant = Tenant::new("other").expect("a tenant");
    let key = RequestKey::new("claimed").expect("a key");
    let identity = Identity {
        tenant: tenant.clone(),
        key: key.clone(),
    };
    requests.push(run(&*store, &arrival_of(identity, "{}"), START).await);
    let states = RequestStateName::ALL.into_iter().map(Some).chain([None]);
    for state in states {
        for tenant in [None, Some(Tenant::single()), Some(tenant.clone())] {
            for key in [None, Some(key.clone())] {
                let filter = RequestFilter {
                    tenant: tenant.clone(),
                    key,
                    state,
                };
                let mut expected: Vec<_> = requests
                    .iter()
                    .filter(|request| filter.matches(request))
                    .map(RequestHead::of)
                    .collect();
                expected.sort_by_key(|head| std::cmp::Reverse(head.id));
                assert_eq!(
                    page(&*store, &filter, None, 20).await,
                    expected,
                    "{filter:?}"
                );
            }
        }
    }
}

pub async fn a_page_is_bounded(store: Arc<dyn Requests>) {
    for number in 0..=PAGE_MAX {
        claimed(&*store, &format!("k-{number}")).await;
    }
    let all = RequestFilter::default();
    assert_eq!(
        page(&*store, &all, None, u32::MAX).await.len(),
        PAGE_MAX as usize
    );
    let due = store
        .due_requests(at(1000), u32::MAX)
        .await
        .expect("due_requests");
    assert_eq!(due.len(), PAGE_MAX as usize);
    assert_eq!(page(&*store, &all, None, 0).await, []);
}

pub async fn a_request_is_found_by_its_id(store: Arc<dyn Requests>) {
    let request = in_state(&*store, "k", RequestStateName::Finished).await;
    let by_id = |id| store.request_by_id(id);
    assert_eq!(
        by_id(request.id).await.expect("request_by_id"),
        Some(request)
    );
    assert_eq!(by_id(arrival("k").id).await.expect("request_by_id"), None);
}

pub async fn what_is_open_is_counted(store: Arc<dyn Requests>) {
    for name in RequestStateName::ALL {
        in_state(&*store, name.as_str(), name).await;
    }
    in_state(&*store, "second", RequestStateName::Unknown).await;
    let late = run(&*store, &arrival("late"), at(7)).await;
    assert_eq!(late.due_at(), Some(at(47)));
    let expected = RequestDepth {
        claimed: 2,
        unknown: 2,
        needs_human: 1,
        oldest_unknown: Some(at(40)),
    };
    assert_eq!(
        store.request_depth().await.expect("request_depth"),
        expected
    );
}
