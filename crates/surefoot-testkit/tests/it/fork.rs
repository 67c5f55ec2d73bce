//! A store that was forked goes its own way.

use std::sync::Arc;

use surefoot_core::id::{Actor, JobId, Kind, Queue, Tenant};
use surefoot_core::job::StateName;
use surefoot_core::payload::Payload;
use surefoot_core::port::{By, NewJob, Store};
use surefoot_core::time::Timestamp;
use surefoot_testkit::{ManualClock, MemoryStore};

const T0: Timestamp = Timestamp::from_micros(1_000_000_000);

#[tokio::test]
async fn what_happens_in_a_fork_stays_there() {
    let job = NewJob {
        id: JobId::new(T0, [1; 10]),
        tenant: Tenant::single(),
        kind: Kind::new("refund").unwrap(),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        trace: None,
        run_at: None,
        deadline_at: None,
    };
    let by = By {
        actor: Actor::new("ann").unwrap(),
        reason: "because".into(),
    };
    let store = MemoryStore::new(Arc::new(ManualClock::new(T0)));
    store.enqueue(std::slice::from_ref(&job), T0).await.unwrap();
    let fork = store.fork();
    fork.cancel(job.id, &by, T0).await.unwrap();
    let state = async |store: &MemoryStore| {
        let record = store.job(job.id).await.unwrap().unwrap();
        record.job.state.name()
    };
    assert_eq!(state(&store).await, StateName::Pending);
    assert_eq!(state(&fork).await, StateName::Cancelled);
}
