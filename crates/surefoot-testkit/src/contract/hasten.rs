//! Hasten: news of an effect lets its job be asked about at once, and never later than it was.

use std::sync::Arc;

use surefoot_core::job::{JobState, StateName};
use surefoot_core::port::{NewJob, Store};

use super::fixture::{
    applied, asking, at, claim, fresh_id, in_state, job, record, state, success, take, take_one,
};

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
