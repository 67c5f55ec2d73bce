//! The contract of requests over the stores of this crate, and what a lost answer leaves behind.

use std::sync::Arc;

use surefoot_core::port::{RequestDepth, RequestWritten, Requests};
use surefoot_core::request::{
    Arrived, End, Finish, Kept, NewRequest, NotKept, Request, Tombstone, finish,
};
use surefoot_core::time::Timestamp;
use surefoot_testkit::{
    Fault, FaultCounts, FaultRates, FaultyStore, ManualClock, MemoryStore, Verb,
};

const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

fn memory() -> MemoryStore {
    let clock = ManualClock::new(START);
    MemoryStore::new(Arc::new(clock))
}

mod over_memory {
    use super::*;

    async fn open(_case: &'static str) -> Arc<dyn Requests> {
        Arc::new(memory())
    }

    surefoot_testkit::requests_contract!(open);
}

mod over_faulty_without_faults {
    use super::*;

    async fn open(_case: &'static str) -> Arc<dyn Requests> {
        let memory = Arc::new(memory());
        Arc::new(FaultyStore::over(memory.clone(), 7).requests(memory))
    }

    surefoot_testkit::requests_contract!(open);
}

fn arrival(key: &str, number: u8) -> NewRequest {
    surefoot_testkit::arrival(key, number, START)
}

fn answered(request: &Request) -> Request {
    let tombstone = Tombstone {
        status: 201,
        body_sha256: None,
        body_bytes: None,
        why: NotKept::Streamed,
    };
    match finish(
        request,
        request.epoch,
        End::Answered(Kept::Tombstone(tombstone)),
        START,
    ) {
        Finish::Write(request) => *request,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_that_was_lost_is_had_by_the_same_call_and_no_double_is_left() {
    let memory = Arc::new(memory());
    let faults = FaultyStore::over(memory.clone(), 1);
    let store = faults.requests(memory.clone());
    let new = arrival("k", 1);
    faults.next(Verb::Begin, Fault::Before);
    faults.next(Verb::Begin, Fault::After);
    store.begin(&new, START).await.unwrap_err();
    assert_eq!(memory.request(&new.identity).await.unwrap(), None);
    store.begin(&new, START).await.unwrap_err();
    let request = memory.request(&new.identity).await.unwrap().unwrap();
    let again = store.begin(&new, START).await.unwrap();
    assert_eq!(
        again,
        Arrived::Run(Box::new(request.clone())),
        "it runs, once"
    );
    let twin = store.begin(&arrival("k", 2), START).await.unwrap();
    assert!(matches!(twin, Arrived::Running { .. }), "{twin:?}");
    faults.next(Verb::WriteRequest, Fault::After);
    let done = answered(&request);
    store.write_request(&done).await.unwrap_err();
    assert_eq!(
        store.write_request(&done).await.unwrap(),
        RequestWritten::Already
    );
    let counts = FaultCounts {
        calls: 4,
        before: 1,
        after: 1,
        delayed: 0,
    };
    assert_eq!(faults.counts(Verb::Begin), counts);
}

/// Each caller repeats what failed, as a guard does, over a store that loses every third answer.
#[tokio::test]
async fn a_storm_over_lost_answers_runs_each_key_once() {
    for seed in 0..20 {
        let memory = Arc::new(memory());
        let faults = FaultyStore::over(memory.clone(), seed);
        let store = Arc::new(faults.requests(memory.clone()));
        faults.misbehave(FaultRates {
            before: 0.2,
            after: 0.3,
            ..FaultRates::default()
        });
        let callers = (0..30_u8).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let new = arrival(&format!("k-{}", number % 5), number);
                let arrived = loop {
                    if let Ok(arrived) = store.begin(&new, START).await {
                        break arrived;
                    }
                };
                let Arrived::Run(request) = arrived else {
                    return 0;
                };
                let done = answered(&request);
                while store.write_request(&done).await.is_err() {}
                1
            })
        });
        let mut ran = 0;
        for caller in callers.collect::<Vec<_>>() {
            ran += caller.await.unwrap();
        }
        assert_eq!(ran, 5, "no-double-effect under seed {seed}");
        let open = memory.request_depth().await.unwrap();
        assert_eq!(
            open,
            RequestDepth::default(),
            "no-lost-intent under seed {seed}"
        );
    }
}
