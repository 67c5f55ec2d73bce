//! A protected call inside a handler of a job: what the policy knows of it reaches the job by `?`.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot::{Cx, Engine, EngineOptions, Heartbeat, Job, JobPolicy, Recovery};
use surefoot_core::job::JobState;
use surefoot_core::settle::DEFERRAL;
use surefoot_core::time::Timestamp;
use surefoot_policy::meaning::{Meaning, Meant};
use surefoot_policy::{Dependency, Meta, Policy};
use surefoot_testkit::{MemoryStore, TokioClock};

#[derive(Serialize, Deserialize)]
struct Charge;

impl Job for Charge {
    const KIND: &'static str = "charge";
    type Output = u32;
}

#[derive(Debug, thiserror::Error)]
#[error("connection reset")]
struct Reset;

impl Meant for Reset {
    fn meaning(&self) -> Meaning {
        Meaning::TRANSIENT
    }
}

/// All seats are taken for four seconds. A full bulkhead names no time, so the job comes back by the one rule.
#[tokio::test(start_paused = true)]
async fn a_handler_that_passes_a_rejection_on_is_put_off_and_uses_no_attempt() {
    let start = Timestamp::from_micros(1_800_000_000_000_000);
    let store = MemoryStore::new(Arc::new(TokioClock::starting_at(start)));
    let mut policy = Policy::default();
    policy.bulkhead.limit = 1;
    policy.bulkhead.queue_max = 0;
    let psp = Dependency::new("psp", policy).unwrap();
    let held = psp.clone();
    let holder = tokio::spawn(async move {
        let slow = held.call(&Meta::once_only(), |_| async {
            tokio::time::sleep(DEFERRAL * 2).await;
            Ok::<_, Reset>(0)
        });
        slow.await.map_err(|error| error.to_string())
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    let charge = move |_: Charge, _: Cx| {
        let psp = psp.clone();
        async move {
            let charged = psp.call(&Meta::once_only(), |_| async { Ok::<_, Reset>(7) });
            Ok(charged.await?)
        }
    };
    let policy = JobPolicy {
        attempts_max: 1,
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let options = EngineOptions {
        heartbeat: Heartbeat::Task,
        ..EngineOptions::default()
    };
    let engine = Engine::over(Arc::new(store))
        .handle(charge, policy)
        .options(options);
    let engine = engine.start().await.unwrap();
    let job = engine.enqueue(Charge).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let record = engine.client().job(job.id).await.unwrap().unwrap();
    let JobState::Retrying { error, .. } = &record.job.state else {
        panic!("it is put off: {:?}", record.job.state);
    };
    assert_eq!(
        error.as_str(),
        "the call of psp was not made: bulkhead_full: nothing was sent"
    );

    let id = job.id;
    assert_eq!(engine.result(job).await.unwrap(), 7);
    assert_eq!(holder.await.unwrap(), Ok(0));
    let record = engine.client().job(id).await.unwrap().unwrap();
    let counts = record.job.counts;
    assert_eq!(
        (
            counts.failed,
            counts.crashed,
            counts.unknown,
            counts.deferred
        ),
        (0, 0, 0, 2)
    );
    engine.drain().await;
}
