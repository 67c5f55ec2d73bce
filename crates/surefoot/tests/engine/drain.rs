//! The end of a node in good order.

use std::sync::Arc;

use surefoot::core::job::{AttemptOutcome, DeadReason, StateName};
use surefoot::core::port::JobFilter;
use surefoot::{Cx, Drained, EngineOptions, Failure, Intent, JobPolicy, Recovery};
use tokio::time::Instant;

use crate::world::{Task, World, ms, notes, options, s};

async fn sleeps(task: Task, _: Cx) -> surefoot::Outcome<u32> {
    tokio::time::sleep(s(u64::from(task.n))).await;
    Ok(task.n)
}

#[tokio::test(start_paused = true)]
async fn what_ends_within_the_grace_is_kept_and_the_rest_is_given_back() {
    let world = World::new();
    let engine = world.runs(sleeps).await;
    let short = engine.enqueue(Task::n(5)).await.unwrap().id;
    let long = engine.enqueue(Task::n(29)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    let began = Instant::now();
    assert_eq!(engine.drain().await, Drained::default());
    assert!(
        began.elapsed() >= s(20) && began.elapsed() < s(22),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(world.state(short).await, StateName::Succeeded);
    let record = world.job(long).await;
    assert_eq!(record.job.state.name(), StateName::Pending);
    assert_eq!(world.outcomes(long).await, [Some(AttemptOutcome::Released)]);
    let counts = record.job.counts;
    assert_eq!((counts.failed, counts.crashed, counts.deferred), (0, 0, 1));
    assert!(engine.health().draining && !engine.health().is_ready());

    let unclaimed = engine.enqueue(Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(60)).await;
    assert_eq!(
        world.state(unclaimed).await,
        StateName::Pending,
        "a drained node claims nothing"
    );
    let next = world.runs(sleeps).await;
    world.settled(long).await;
    assert_eq!(world.state(long).await, StateName::Succeeded);
    next.drain().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_node_is_drained_at_once_and_twice_is_no_fault() {
    let world = World::new();
    let engine = world.runs(sleeps).await;
    let began = Instant::now();
    let (one, two) = tokio::join!(engine.drain(), engine.drain());
    assert_eq!((one, two), (Drained::default(), Drained::default()));
    assert_eq!(engine.drain().await, Drained::default());
    assert!(began.elapsed() < ms(10));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_attempt_under_at_most_once_is_not_given_back() {
    let world = World::new();
    let policy = JobPolicy {
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let engine = world.node().handle(sleeps, policy).start().await.unwrap();
    let job = engine.enqueue(Task::n(29)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    engine.drain().await;
    assert_eq!(world.death(job).await.reason, DeadReason::OutcomeUnknown);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_stops_when_told_gives_its_attempt_back_in_time() {
    let world = World::new();
    let run = |_: Task, cx: Cx| async move {
        cx.cancelled().await;
        Err::<u32, _>(Failure::cancelled("told to stop"))
    };
    let options = EngineOptions {
        cancel_grace: s(10),
        ..options()
    };
    let engine = world.runs_with(options, run).await;
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    let began = Instant::now();
    engine.drain().await;
    assert!(began.elapsed() < s(21), "{:?}", began.elapsed());
    assert_eq!(world.state(job).await, StateName::Pending);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_starts_and_stops_under_load_lose_and_repeat_nothing() {
    let world = World::new();
    let done = notes();
    let rng = &mut fastrand::Rng::with_seed(11);
    let client = world.client(surefoot::Policies::new()).await;
    for round in 0..1000_u64 {
        let done = Arc::clone(&done);
        let run = move |task: Task, cx: Cx| {
            let done = Arc::clone(&done);
            async move {
                tokio::time::sleep(ms(u64::from(task.n % 7))).await;
                done.add(cx.job());
                Ok(task.n)
            }
        };
        let grace = ms(rng.u64(0..4));
        let options = EngineOptions {
            drain_grace: grace,
            concurrency: 4,
            seed: Some(round),
            ..options()
        };
        let engine = world.runs_with(options, run).await;
        let intents = (0..rng.u32(0..6))
            .map(|n| Intent::of(&Task::n(n)).unwrap())
            .collect();
        client.enqueue_many(intents).await.unwrap();
        tokio::time::sleep(ms(rng.u64(0..6))).await;
        assert_eq!(engine.drain().await, Drained::default(), "round {round}");
    }
    let last = world.runs(sleeps).await;
    tokio::time::sleep(s(60)).await;
    last.drain().await;
    let jobs = client.jobs(&JobFilter::default(), None, 500).await.unwrap();
    assert_eq!(jobs.len(), 500);
    assert!(
        jobs.iter()
            .all(|job| job.state.name() == StateName::Succeeded && job.counts.crashed == 0)
    );
    let mut ids = done.all();
    let runs = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(
        ids.len(),
        runs,
        "what ended was written down before the node stopped"
    );
}
