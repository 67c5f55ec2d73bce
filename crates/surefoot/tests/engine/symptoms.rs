//! Faults of other engines that no other file shows: each test is named after its rows in docs/symptoms.md.

use std::sync::Arc;

use surefoot::core::id::{Kind, Worker};
use surefoot::core::job::{AttemptOutcome, DeadReason, StateName};
use surefoot::core::payload::Payload;
use surefoot::{Cx, EngineOptions, Failure, Intent, JobPolicy, Policies};
use surefoot_testkit::{FaultyStore, Verb};

use crate::world::{Task, World, by, options, policy_with_backoff, queue, s};

async fn hangs(_: Task, _: Cx) -> surefoot::Outcome<u32> {
    std::future::pending().await
}

async fn ends(task: Task, _: Cx) -> surefoot::Outcome<u32> {
    Ok(task.n)
}

#[tokio::test(start_paused = true)]
async fn symptoms_7_12_14_a_crash_in_the_only_attempt_is_not_the_end() {
    let world = World::new();
    let once = JobPolicy {
        attempts_max: 1,
        ..policy_with_backoff(&[1])
    };
    let keyed = Task {
        key: Some("k".to_owned()),
        ..Task::n(3)
    };
    let first = world
        .node()
        .handle(hangs, once.clone())
        .start()
        .await
        .unwrap();
    let job = first.enqueue(keyed.clone()).await.unwrap();
    tokio::time::sleep(s(1)).await;
    drop(first);

    let second = world.node().handle(ends, once).start().await.unwrap();
    let again = second.enqueue(keyed).await.unwrap();
    assert_eq!(
        (again.id, again.created),
        (job.id, false),
        "the key tells of its job"
    );
    assert_eq!(second.result(job).await.unwrap(), 3);
    assert_eq!(
        world.outcomes(job.id).await,
        [Some(AttemptOutcome::Lost), Some(AttemptOutcome::Succeeded)]
    );
    let counts = world.job(job.id).await.job.counts;
    assert_eq!((counts.failed, counts.crashed), (0, 1));
}

/// The name of a pod comes back, and so do its heartbeats; what its last process held is lost all the same.
#[tokio::test(start_paused = true)]
async fn symptom_9_a_node_that_returns_under_its_name_holds_nothing_of_its_last_process() {
    let world = World::new();
    let pod = || EngineOptions {
        worker: Some(Worker::new("pod-0").unwrap()),
        ..options()
    };
    let policy = policy_with_backoff(&[1]);
    let first = world
        .node()
        .options(pod())
        .handle(hangs, policy.clone())
        .start()
        .await
        .unwrap();
    let lost = first.enqueue(Task::n(1)).await.unwrap();
    tokio::time::sleep(s(1)).await;
    drop(first);

    let busy = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(u64::from(task.n))).await;
        Ok(task.n)
    };
    let second = world
        .node()
        .options(pod())
        .handle(busy, policy)
        .start()
        .await
        .unwrap();
    for _ in 0..3 {
        let other = second.enqueue(Task::n(18)).await.unwrap();
        assert_eq!(second.result(other).await.unwrap(), 18);
    }
    assert_eq!(
        world.outcomes(lost.id).await,
        [Some(AttemptOutcome::Lost), Some(AttemptOutcome::Succeeded)],
        "found within a lease and a sweep, though its name went on"
    );
}

#[tokio::test(start_paused = true)]
async fn symptom_20_a_start_adds_nothing_to_what_waits() {
    let world = World::new();
    let client = world.client(Policies::new()).await;
    client.pause(&queue("shut"), &by()).await.unwrap();
    let later = Some(client.now().after(s(1_000_000)));
    for n in 0..20 {
        let plain = Intent::of(&Task::n(n)).unwrap();
        let in_line = Intent::of(&Task {
            order_key: Some("lane".to_owned()),
            ..Task::n(n)
        });
        let parked = vec![
            Intent {
                queue: queue("shut"),
                ..plain.clone()
            },
            Intent {
                run_at: later,
                ..plain
            },
            // The first of the line waits for its time, and the others for the first.
            Intent {
                run_at: later.filter(|_| n == 0),
                ..in_line.unwrap()
            },
            Intent::new(Kind::new("of-another-build").unwrap(), Payload::null()),
        ];
        client.enqueue_many(parked).await.unwrap();
    }
    let before = client.depth().await.unwrap().counts;
    for _ in 0..5 {
        let node = world.runs(ends).await;
        tokio::time::sleep(s(120)).await;
        drop(node);
    }
    assert_eq!(client.depth().await.unwrap().counts, before);
    let jobs = client.jobs(&Default::default(), None, 500).await.unwrap();
    assert_eq!(jobs.len(), 80);
    assert!(jobs.iter().all(|job| job.counts.starts == 0));
}

#[tokio::test(start_paused = true)]
async fn symptom_72_a_limit_that_was_lowered_strands_no_job() {
    let world = World::new();
    let down = |task: Task, _: Cx| async move {
        match task.n {
            0 => Err(Failure::transient("down")),
            n => Ok(n),
        }
    };
    let first = world
        .node()
        .handle(down, policy_with_backoff(&[10]))
        .start()
        .await
        .unwrap();
    let failing = first.enqueue(Task::n(0)).await.unwrap().id;
    tokio::time::sleep(s(15)).await;
    assert_eq!(world.job(failing).await.job.counts.failed, 2);
    first.drain().await;

    let lower = JobPolicy {
        attempts_max: 1,
        ..JobPolicy::default()
    };
    let second = world.node().handle(down, lower).start().await.unwrap();
    let behind = second.enqueue(Task::n(7)).await.unwrap();
    assert_eq!(second.result(behind).await.unwrap(), 7);
    world.settled(failing).await;
    assert_eq!(world.death(failing).await.reason, DeadReason::Exhausted);
    assert_eq!(world.outcomes(failing).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn symptom_87_a_drained_node_asks_the_store_nothing_more() {
    let world = World::new();
    let counting = FaultyStore::over(Arc::clone(&world.store), 1);
    let calls = {
        let counting = counting.clone();
        move || -> u64 {
            let of = |verb: &Verb| counting.counts(*verb).calls;
            Verb::ALL.iter().map(of).sum()
        }
    };
    let nodes = World::over(Arc::new(counting));
    let engine = nodes
        .node()
        .handle(ends, JobPolicy::default())
        .start()
        .await
        .unwrap();
    let job = engine.enqueue(Task::n(1)).await.unwrap();
    engine.result(job).await.unwrap();
    engine.drain().await;
    let before = calls();
    assert!(before > 0);
    tokio::time::sleep(s(86_400)).await;
    assert_eq!(calls(), before, "in a day");
    assert_eq!(world.state(job.id).await, StateName::Succeeded);
}
