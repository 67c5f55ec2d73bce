//! A node that dies in the middle, and the one that takes over.

use std::sync::Arc;

use surefoot::core::job::{AttemptOutcome, DeadReason, StateName};
use surefoot::core::settle::{Fence, Report, Settlement, settle};
use surefoot::core::time::Roll;
use surefoot::{CancelCause, Cx, Engine, EngineOptions, JobPolicy, Policies, Recovery, Reported};
use surefoot_testkit::{Fault, FaultyStore, Verb};

use crate::world::{Notes, Task, World, notes, options, policy_with_backoff, s};

/// Runs for five seconds.
async fn slow_node(world: &World, policy: JobPolicy, starts: &Arc<Notes<u32>>) -> Engine {
    let starts = Arc::clone(starts);
    let run = move |task: Task, cx: Cx| {
        starts.add(cx.attempt());
        async move {
            tokio::time::sleep(s(5)).await;
            Ok(task.n)
        }
    };
    world.node().handle(run, policy).start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn another_node_finishes_what_a_dead_one_began() {
    let world = World::new();
    let starts = notes();
    let first = slow_node(&world, JobPolicy::default(), &starts).await;
    let second = slow_node(&world, JobPolicy::default(), &notes()).await;
    second.drain().await;
    let job = first.enqueue(Task::n(3)).await.unwrap();
    tokio::time::sleep(s(2)).await;
    drop(first);
    tokio::time::sleep(s(8)).await;
    assert_eq!(
        world.state(job.id).await,
        StateName::Running,
        "the dead node wrote nothing"
    );

    let third = slow_node(&world, JobPolicy::default(), &starts).await;
    assert_eq!(third.result(job).await.unwrap(), 3);
    assert_eq!(
        world.outcomes(job.id).await,
        [Some(AttemptOutcome::Lost), Some(AttemptOutcome::Succeeded)]
    );
    assert_eq!(starts.all(), [1, 2]);
    let counts = world.job(job.id).await.job.counts;
    assert_eq!(
        (counts.failed, counts.crashed),
        (0, 1),
        "a crash uses up no attempt"
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_that_kills_its_node_three_times_is_a_dead_letter() {
    let world = World::new();
    let starts = notes();
    let client = world.client(Policies::new()).await;
    let job = client.enqueue_job(&Task::n(1)).await.unwrap().id;
    for _ in 0..6 {
        let before = starts.len();
        let doomed = slow_node(&world, policy_with_backoff(&[1]), &starts).await;
        for _ in 0..600 {
            tokio::time::sleep(s(1)).await;
            if starts.len() > before {
                break;
            }
        }
        drop(doomed);
    }
    let _healthy = slow_node(&world, policy_with_backoff(&[1]), &starts).await;
    tokio::time::sleep(s(100)).await;
    assert_eq!(world.death(job).await.reason, DeadReason::CrashLoop);
    assert_eq!(starts.all(), [1, 2, 3]);
    assert_eq!(world.outcomes(job).await, [Some(AttemptOutcome::Lost); 3]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_attempt_under_at_most_once_is_never_sent_again() {
    let world = World::new();
    let starts = notes();
    let once = JobPolicy {
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let first = slow_node(&world, once, &starts).await;
    let job = first.enqueue(Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    drop(first);
    // The node that finds it does not know that the kind must not be sent twice.
    let _second = slow_node(&world, JobPolicy::default(), &starts).await;
    tokio::time::sleep(s(3600)).await;
    assert_eq!(world.death(job).await.reason, DeadReason::OutcomeUnknown);
    assert_eq!(starts.all(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_late_report_of_a_lost_holder_changes_nothing() {
    let world = World::new();
    let client = world.client(Policies::new()).await;
    let job = client.enqueue_job(&Task::n(9)).await.unwrap();
    let worker = "frozen".parse().unwrap();
    let queues = surefoot::core::port::Queues::All;
    let leased = client
        .lease(&worker, &[Task::kind()], queues, 1)
        .await
        .unwrap();
    let engine = slow_node(&world, JobPolicy::default(), &notes()).await;
    assert_eq!(engine.result(job).await.unwrap(), 9);
    let late = Report::Succeeded(surefoot::core::payload::Payload::null());
    let answer = client
        .report(job.id, leased[0].state.epoch, late)
        .await
        .unwrap();
    assert_eq!(answer, Reported::Stale);
    assert_eq!(engine.result(job).await.unwrap(), 9);
}

#[tokio::test(start_paused = true)]
async fn six_thousand_lost_leases_are_all_found() {
    let world = World::new();
    let client = world.client(Policies::new()).await;
    let intents = |from: u32| {
        (from..from + 1000)
            .map(|n| surefoot::Intent::of(&Task::n(n)).unwrap())
            .collect()
    };
    let worker = "gone".parse().unwrap();
    for from in 0..6 {
        client.enqueue_many(intents(from * 1000)).await.unwrap();
        let queues = surefoot::core::port::Queues::All;
        assert_eq!(
            client
                .lease(&worker, &[Task::kind()], queues, 1000)
                .await
                .unwrap()
                .len(),
            1000
        );
    }
    // A node without handlers sweeps all the same.
    let _node = world.node().start().await.unwrap();
    tokio::time::sleep(s(60)).await;
    let depth = client.depth().await.unwrap();
    assert_eq!(
        depth
            .counts
            .iter()
            .map(|line| (line.state, line.count))
            .collect::<Vec<_>>(),
        [(StateName::Retrying, 6000)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_whose_lease_was_lost_is_told_and_dropped() {
    let world = World::new();
    let causes = notes();
    let seen = Arc::clone(&causes);
    let run = move |task: Task, cx: Cx| {
        let causes = Arc::clone(&seen);
        async move {
            if cx.attempt() > 1 {
                return Ok(task.n);
            }
            causes.add(cx.cancelled().await);
            std::future::pending().await
        }
    };
    let engine = world
        .node()
        .handle(run, policy_with_backoff(&[60]))
        .start()
        .await
        .unwrap();
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    // What another node would write if it took this one for dead.
    let leased = world.job(job).await.job.into_leased().unwrap();
    let now = engine.client().now();
    let settlement = settle(
        &leased,
        &[],
        Report::Lost,
        &policy_with_backoff(&[60]),
        now,
        Roll(0),
    );
    let fence = Fence {
        lapsed_before: None,
        ..settlement.fence
    };
    let stolen = Settlement {
        fence,
        ..settlement
    };
    world.store.advance(&[stolen], None, now).await.unwrap();

    tokio::time::sleep(s(8)).await;
    assert_eq!(causes.all(), [CancelCause::LeaseLost]);
    assert_eq!(world.told.count("lease lost task"), 1);
    assert_eq!(engine.health().running, 0, "it was dropped");
    assert_eq!(
        world.outcomes(job).await,
        [Some(AttemptOutcome::Lost)],
        "and wrote nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_does_not_take_itself_for_dead_while_its_heartbeat_fails() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    for _ in 0..1000 {
        faulty.next(Verb::Beat, Fault::Before);
    }
    let run = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(45)).await;
        Ok(task.n)
    };
    let patient = EngineOptions {
        cancel_grace: s(20),
        ..options()
    };
    let engine = world.runs_with(patient, run).await;
    let job = engine.enqueue(Task::n(6)).await.unwrap();
    assert_eq!(engine.result(job).await.unwrap(), 6);
    assert_eq!(
        world.outcomes(job.id).await,
        [Some(AttemptOutcome::Succeeded)]
    );
}
