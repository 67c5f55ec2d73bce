//! A node with nothing to do does next to nothing, and keeps nothing.

use std::sync::Arc;

use surefoot::{Cx, EngineOptions, JobPolicy, Policies};
use surefoot_testkit::{FaultyStore, Verb};

use crate::world::{Task, World, by, ms, options, queue, s};

const VERBS: [Verb; 9] = [
    Verb::Advance,
    Verb::Extend,
    Verb::Beat,
    Verb::Heart,
    Verb::Lapsed,
    Verb::Expire,
    Verb::Maintain,
    Verb::Jobs,
    Verb::Announcements,
];

fn calls(store: &FaultyStore) -> u64 {
    VERBS.iter().map(|verb| store.counts(*verb).calls).sum()
}

#[tokio::test(start_paused = true)]
async fn an_idle_hour_costs_a_bounded_number_of_calls() {
    let world = World::new();
    let counting = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(counting.clone()));
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    // What waits without being able to run must not make it busy: a paused queue, a far time, a held order key.
    let client = engine.client();
    client.pause(&queue("shut"), &by()).await.unwrap();
    let now = client.now();
    for n in 0..10 {
        let intent = surefoot::Intent::of(&Task::n(n)).unwrap();
        let paused = surefoot::Intent {
            queue: queue("shut"),
            ..intent.clone()
        };
        let later = surefoot::Intent {
            run_at: Some(now.after(s(100_000))),
            ..intent
        };
        client.enqueue_many(vec![paused, later]).await.unwrap();
    }
    tokio::time::sleep(s(10)).await;
    let before = calls(&counting);
    tokio::time::sleep(s(3600)).await;
    let per_hour = calls(&counting) - before;
    assert!(
        (3000..6000).contains(&per_hour),
        "{per_hour} calls in an hour"
    );
    assert!(
        counting.counts(Verb::Advance).calls < 4500,
        "{:?}",
        counting.counts(Verb::Advance)
    );
}

#[tokio::test(start_paused = true)]
async fn nodes_do_not_poll_in_step() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let mut nodes = Vec::new();
    let mut stores = Vec::new();
    for seed in 0..50 {
        let counting = FaultyStore::over(Arc::clone(&world.store), seed);
        let one = World::over(Arc::new(counting.clone()));
        nodes.push(
            one.node()
                .handle(run, JobPolicy::default())
                .start()
                .await
                .unwrap(),
        );
        stores.push(counting);
    }
    tokio::time::sleep(s(120)).await;
    // Over one second in steps of 20 ms, no step holds more than a fifth of the nodes' polls.
    let polls = || {
        stores
            .iter()
            .map(|store| store.counts(Verb::Advance).calls)
            .sum::<u64>()
    };
    let mut last = polls();
    for _ in 0..50 {
        tokio::time::sleep(ms(20)).await;
        let next = polls();
        assert!(next - last <= 10, "{} polls in 20 ms", next - last);
        last = next;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_without_handlers_serves_and_sweeps_but_claims_nothing() {
    let world = World::new();
    let counting = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(counting.clone()));
    let engine = world.node().start().await.unwrap();
    engine.client().enqueue_job(&Task::n(1)).await.unwrap();
    tokio::time::sleep(s(600)).await;
    assert_eq!(counting.counts(Verb::Advance).calls, 0);
    assert!(counting.counts(Verb::Lapsed).calls > 90);
    assert!(engine.health().is_ready(), "{:?}", engine.health());
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_slots_are_all_taken_is_ready() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(500)).await;
        Ok(task.n)
    };
    let options = EngineOptions {
        concurrency: 1,
        ..options()
    };
    let policy = JobPolicy::with_timeout(s(600));
    let engine = world
        .node()
        .options(options)
        .handle(run, policy)
        .start()
        .await
        .unwrap();
    let client = world.client(Policies::new()).await;
    client.enqueue_job(&Task::n(1)).await.unwrap();
    client.enqueue_job(&Task::n(2)).await.unwrap();
    tokio::time::sleep(s(400)).await;
    assert!(engine.health().is_ready(), "{:?}", engine.health());
    assert_eq!(engine.health().running, 1);
}
