//! Cancelling, pausing, ordering and limiting what runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use surefoot::core::job::{AttemptOutcome, StateName};
use surefoot::core::port::{Cancelled, Replay, ReplayEffect, Steered};
use surefoot::{CancelCause, Cx, EngineOptions, Failure, Intent, JobPolicy, Outcome, Policies};
use surefoot_testkit::{Fault, FaultyStore, Verb};
use tokio::time::Instant;

use crate::world::{Task, World, by, ms, notes, options, policy_with_backoff, queue, s};

/// Stops when it is asked to.
async fn cooperative(_: Task, cx: Cx) -> Outcome<u32> {
    match cx.cancelled().await {
        CancelCause::Requested => Err(Failure::cancelled("stopped by request")),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_a_running_handler_here_and_on_other_nodes() {
    let world = World::new();
    let engine = world.runs(cooperative).await;
    let elsewhere = world.client(Policies::new()).await;
    for (client, within) in [(engine.client(), ms(10)), (&elsewhere, s(6))] {
        let job = engine.enqueue(Task::n(1)).await.unwrap().id;
        tokio::time::sleep(s(1)).await;
        assert_eq!(
            client.cancel(job, &by()).await.unwrap(),
            Cancelled::Requested
        );
        tokio::time::sleep(within).await;
        assert_eq!(world.state(job).await, StateName::Cancelled);
        assert_eq!(world.outcomes(job).await, [Some(AttemptOutcome::Cancelled)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_finishes_after_a_cancellation_has_succeeded() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(8)).await;
        Ok(task.n)
    };
    let engine = world.runs(run).await;
    let job = engine.enqueue(Task::n(4)).await.unwrap();
    tokio::time::sleep(s(1)).await;
    engine.client().cancel(job.id, &by()).await.unwrap();
    assert_eq!(engine.result(job).await.unwrap(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_job_is_not_retried() {
    let world = World::new();
    let run = |_: Task, cx: Cx| async move {
        cx.cancelled().await;
        Err::<u32, _>(Failure::transient("connection reset"))
    };
    let engine = world.runs(run).await;
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    engine.client().cancel(job, &by()).await.unwrap();
    tokio::time::sleep(s(1)).await;
    assert_eq!(world.state(job).await, StateName::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_waits_and_goes_on_at_once() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    let elsewhere = world.client(Policies::new()).await;
    elsewhere.pause(&queue("default"), &by()).await.unwrap();
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(60)).await;
    assert_eq!(world.state(job).await, StateName::Pending);
    assert!(elsewhere.resume(&queue("default")).await.unwrap());
    tokio::time::sleep(ms(10)).await;
    assert_eq!(world.state(job).await, StateName::Succeeded);
}

/// The claim that looks for it comes too early by a hair, and its answer too late to wait for the time.
#[tokio::test(start_paused = true)]
async fn a_job_that_becomes_due_while_the_store_answers_does_not_wait_for_a_poll() {
    let faulty = Arc::new(FaultyStore::over(World::new().store, 1));
    let world = World::over(Arc::<FaultyStore>::clone(&faulty));
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    tokio::time::sleep(ms(10)).await;
    faulty.next(Verb::Advance, Fault::Late(ms(20)));
    // Nor does its own announcement have it look again.
    faulty.next(Verb::Announce, Fault::Before);
    let intent = Intent {
        run_at: Some(engine.client().now().after(ms(5))),
        ..Intent::of(&Task::n(1)).unwrap()
    };
    let job = engine.enqueue_intent(intent).await.unwrap().job();
    tokio::time::sleep(ms(30)).await;
    assert_eq!(faulty.counts(Verb::Advance).delayed, 1);
    assert_eq!(world.state(job).await, StateName::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_scheduled_job_runs_at_its_time() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    let at = engine.client().now().after(s(7200));
    let intent = Intent {
        run_at: Some(at),
        ..Intent::of(&Task::n(1)).unwrap()
    };
    let job = engine.enqueue_intent(intent).await.unwrap().job();
    let record = world.settled(job).await;
    let late = record.attempts[0].started_at.since(at);
    assert!(
        record.attempts[0].started_at >= at && late <= ms(5),
        "{late:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn jobs_of_one_order_key_run_one_at_a_time_in_order_over_two_nodes() {
    let world = World::new();
    let order = notes();
    let mut engines = Vec::new();
    for _ in 0..2 {
        let order = Arc::clone(&order);
        let run = move |task: Task, cx: Cx| {
            let order = Arc::clone(&order);
            async move {
                let key = task.order_key.unwrap();
                order.add((key.clone(), task.n, true));
                tokio::time::sleep(ms(u64::from(task.n * 37 % 11))).await;
                order.add((key, task.n, false));
                // The head fails now and then, and still nothing overtakes it.
                if task.n % 5 == 2 && cx.attempt() == 1 {
                    Err(Failure::transient("again"))
                } else {
                    Ok(task.n)
                }
            }
        };
        engines.push(
            world
                .node()
                .handle(run, policy_with_backoff(&[3]))
                .start()
                .await
                .unwrap(),
        );
    }
    for n in 0..20 {
        for key in ["a", "b", "c"] {
            let task = Task {
                order_key: Some(key.to_owned()),
                ..Task::n(n)
            };
            engines[(n % 2) as usize].enqueue(task).await.unwrap();
        }
    }
    tokio::time::sleep(s(120)).await;
    let mut by_key: HashMap<String, Vec<(u32, bool)>> = HashMap::new();
    for (key, n, starts) in order.all() {
        by_key.entry(key).or_default().push((n, starts));
    }
    assert_eq!(by_key.len(), 3);
    for (key, steps) in by_key {
        let mut expected = Vec::new();
        for n in 0..20 {
            let runs = if n % 5 == 2 { 2 } else { 1 };
            expected.extend([(n, true), (n, false)].repeat(runs));
        }
        assert_eq!(steps, expected, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_runs_no_more_at_once_than_it_may_over_two_nodes() {
    let world = World::new();
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let policy = JobPolicy {
        concurrency_max: Some(3),
        ..JobPolicy::default()
    };
    let mut engines = Vec::new();
    for _ in 0..2 {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        let run = move |task: Task, _: Cx| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(s(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(task.n)
            }
        };
        engines.push(
            world
                .node()
                .handle(run, policy.clone())
                .start()
                .await
                .unwrap(),
        );
    }
    let started = Instant::now();
    let mut jobs = Vec::new();
    for n in 0..30 {
        jobs.push(engines[0].enqueue(Task::n(n)).await.unwrap());
    }
    for job in jobs {
        engines[0].result(job).await.unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
    assert!(
        started.elapsed() < s(11),
        "a freed slot is used at once: {:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_attempts_run_than_the_node_has_slots() {
    let world = World::new();
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (r, m) = (Arc::clone(&running), Arc::clone(&most));
    let run = move |task: Task, _: Cx| {
        let (running, most) = (Arc::clone(&r), Arc::clone(&m));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(ms(100)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(task.n)
        }
    };
    let options = EngineOptions {
        concurrency: 5,
        ..options()
    };
    let engine = world.runs_with(options, run).await;
    let jobs: Vec<Intent> = (0..100).map(|n| Intent::of(&Task::n(n)).unwrap()).collect();
    engine.client().enqueue_many(jobs).await.unwrap();
    tokio::time::sleep(ms(2_100)).await;
    assert_eq!(most.load(Ordering::SeqCst), 5);
    assert_eq!(
        world.told.count("ended task succeeded"),
        100,
        "20 rounds of 5 in 2 s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_replayed_dead_letter_runs_again_with_all_its_attempts() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        if cx.attempt() <= 2 {
            Err(Failure::transient("down"))
        } else {
            Ok(task.n)
        }
    };
    let policy = JobPolicy {
        attempts_max: 2,
        ..JobPolicy::default()
    };
    let engine = world.node().handle(run, policy).start().await.unwrap();
    let job = engine.enqueue(Task::n(6)).await.unwrap();
    world.settled(job.id).await;
    assert_eq!(world.state(job.id).await, StateName::Dead);
    let replay = Replay {
        effect: Some(ReplayEffect::Same),
        by: by(),
    };
    assert_eq!(
        engine.client().replay(job.id, &replay).await.unwrap(),
        Steered::Done
    );
    assert_eq!(engine.result(job).await.unwrap(), 6);
}
