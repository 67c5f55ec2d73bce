//! What virtual time cannot show: threads that are blocked for real.

use std::sync::Arc;
use std::time::Instant;

use surefoot::core::job::{AttemptOutcome, StateName};
use surefoot::{Cx, EngineOptions, Heartbeat, Intent, JobPolicy, Policies};
use surefoot_testkit::{FaultyStore, Verb};

use crate::world::{Task, World, ms, notes, options, s};

/// A handler that blocks the only thread of its runtime for far longer than its lease, while another node looks for
/// lost leases all the time.
#[test]
fn a_handler_that_blocks_the_runtime_keeps_its_lease() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let world = Arc::new(runtime().block_on(async { World::new() }));
    let starts = notes();
    let policy = JobPolicy {
        timeout: ms(200),
        lease: ms(600),
        ..JobPolicy::default()
    };

    let (theirs, their_starts, their_policy) =
        (Arc::clone(&world), Arc::clone(&starts), policy.clone());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let other = std::thread::spawn(move || {
        runtime().block_on(async move {
            tokio::time::sleep(ms(300)).await;
            let run = move |task: Task, cx: Cx| {
                their_starts.add(cx.attempt());
                async move { Ok(task.n) }
            };
            let eager = EngineOptions {
                sweep: ms(50),
                poll: ms(50),
                ..options()
            };
            let _node = theirs
                .node()
                .options(eager)
                .handle(run, their_policy)
                .start()
                .await
                .unwrap();
            stopped.await.unwrap();
        });
    });

    runtime().block_on(async {
        let blocking = {
            let starts = Arc::clone(&starts);
            move |task: Task, cx: Cx| {
                starts.add(cx.attempt());
                async move {
                    std::thread::sleep(s(3));
                    Ok(task.n)
                }
            }
        };
        let options = EngineOptions {
            heartbeat: Heartbeat::OwnThread,
            ..options()
        };
        let engine = world
            .node()
            .options(options)
            .handle(blocking, policy)
            .start()
            .await
            .unwrap();
        let job = engine.enqueue(Task::n(8)).await.unwrap();
        let began = Instant::now();
        assert_eq!(engine.result(job).await.unwrap(), 8);
        assert!(began.elapsed() >= s(3));
        assert_eq!(starts.all(), [1], "nobody else started it");
        assert_eq!(
            world.outcomes(job.id).await,
            [Some(AttemptOutcome::Succeeded)]
        );
        engine.drain().await;
    });
    stop.send(()).unwrap();
    other.join().unwrap();
}

/// Beyond the named limit a handler that cannot be stopped is given up, and its late word is refused.
#[test]
fn a_handler_that_is_stuck_beyond_the_limit_is_given_up() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = World::new();
        let policy = JobPolicy {
            timeout: ms(100),
            lease: ms(300),
            ..crate::world::policy_with_backoff(&[1])
        };
        let run = |task: Task, cx: Cx| async move {
            if cx.attempt() == 1 {
                std::thread::sleep(s(3));
            }
            Ok(task.n + cx.attempt())
        };
        let options = EngineOptions {
            heartbeat: Heartbeat::OwnThread,
            cancel_grace: ms(50),
            stuck_max: ms(500),
            sweep: ms(50),
            ..options()
        };
        let engine = world
            .node()
            .options(options)
            .handle(run, policy)
            .start()
            .await
            .unwrap();
        let job = engine.enqueue(Task::n(0)).await.unwrap();
        assert_eq!(engine.result(job).await.unwrap(), 2);
        tokio::time::sleep(ms(2500)).await;
        assert_eq!(world.state(job.id).await, StateName::Succeeded);
        assert_eq!(
            world.outcomes(job.id).await,
            [Some(AttemptOutcome::Lost), Some(AttemptOutcome::Succeeded)]
        );
        assert_eq!(
            world.told.count("abandoned task"),
            1,
            "{:?}",
            world.told.lines()
        );
        assert_eq!(
            world.told.count("stale write"),
            1,
            "{:?}",
            world.told.lines()
        );
        assert_eq!(engine.health().running, 0);
    });
}

/// A drain does not wait for ever for a handler that blocks its thread: it says that it left one behind.
#[test]
fn a_drain_ends_while_a_handler_is_stuck() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = World::new();
        let run = |task: Task, _: Cx| async move {
            std::thread::sleep(s(3));
            Ok(task.n)
        };
        let options = EngineOptions {
            heartbeat: Heartbeat::OwnThread,
            drain_grace: ms(100),
            cancel_grace: ms(50),
            store_timeout: ms(200),
            ..options()
        };
        let engine = world.runs_with(options, run).await;
        let job = engine.enqueue(Task::n(0)).await.unwrap();
        tokio::time::sleep(ms(300)).await;
        let began = Instant::now();
        let left = engine.drain().await;
        assert!(began.elapsed() < s(2), "{:?}", began.elapsed());
        assert_eq!((left.abandoned, left.unsettled), (1, 0));
        assert_eq!(
            world.state(job.id).await,
            StateName::Running,
            "its lease will lapse"
        );
    });
}

/// Short jobs are settled and claimed by the batch, not one by one.
#[test]
fn short_jobs_go_through_the_store_in_batches() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = World::new();
        let counting = FaultyStore::over(Arc::clone(&world.store), 1);
        let client = world.client(Policies::new()).await;
        let intents = (0..1000).map(|n| Intent::of(&Task::n(n)).unwrap());
        client.enqueue_many(intents.collect()).await.unwrap();
        let run = |task: Task, _: Cx| async move { Ok(task.n) };
        let world = World::over(Arc::new(counting.clone()));
        let engine = world.runs(run).await;
        while world.told.count("ended task succeeded") < 1000 {
            tokio::time::sleep(ms(10)).await;
        }
        engine.drain().await;
        let calls = counting.counts(Verb::Advance).calls;
        assert!(calls <= 25, "{calls} calls for 1000 jobs in 64 slots");
    });
}
