//! The engine over a store that fails before and after its commits, is slow, and answers too late; nodes crash
//! besides. Whatever happens, the invariants hold.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use surefoot::core::id::{Epoch, JobId};
use surefoot::core::job::{AttemptOutcome, DeadReason, JobState, StateName};
use surefoot::core::port::Store;
use surefoot::core::time::Timestamp;
use surefoot::{
    Client, Cx, Engine, EngineOptions, Failure, Job, JobPolicy, NoObserver, Observer, Outcome,
    Policies, Recovery,
};
use surefoot_testkit::{Fault, FaultRates, FaultyStore, ManualClock, MemoryStore, Verb};

use crate::world::{Task, World, ms, notes, options, policy_with_backoff, s};

/// What handlers did, seen from outside the engine.
#[derive(Default)]
struct Witness {
    starts: Mutex<Vec<(JobId, Epoch)>>,
    at_work: Mutex<HashSet<JobId>>,
    overlaps: Mutex<Vec<JobId>>,
    returned: Mutex<HashMap<JobId, Vec<Epoch>>>,
}

/// One run of a handler, from its start to its end or its being dropped.
struct Work {
    witness: Arc<Witness>,
    job: JobId,
}

impl Witness {
    fn begin(self: &Arc<Self>, cx: &Cx) -> Work {
        self.starts.lock().unwrap().push((cx.job(), cx.epoch()));
        if !self.at_work.lock().unwrap().insert(cx.job()) {
            self.overlaps.lock().unwrap().push(cx.job());
        }
        Work {
            witness: Arc::clone(self),
            job: cx.job(),
        }
    }

    fn returns(&self, cx: &Cx) {
        let mut returned = self.returned.lock().unwrap();
        returned.entry(cx.job()).or_default().push(cx.epoch());
    }

    fn starts_of(&self, job: JobId) -> Vec<Epoch> {
        let starts = self.starts.lock().unwrap();
        starts
            .iter()
            .filter(|(id, _)| *id == job)
            .map(|(_, epoch)| *epoch)
            .collect()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.witness.at_work.lock().unwrap().remove(&self.job);
    }
}

/// May be sent once only.
#[derive(Serialize, Deserialize)]
struct Once(u32);

impl Job for Once {
    const KIND: &'static str = "once";
    type Output = u32;

    fn key(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

async fn work(witness: Arc<Witness>, n: u32, cx: Cx, fails: bool) -> Outcome<u32> {
    let _work = witness.begin(&cx);
    tokio::time::sleep(ms(u64::from(n % 13) * 700)).await;
    if fails && n.is_multiple_of(4) && cx.attempt() < 3 {
        return Err(Failure::transient("try again"));
    }
    witness.returns(&cx);
    Ok(n)
}

async fn node(store: FaultyStore, witness: &Arc<Witness>, seed: u64) -> Engine {
    let (tasks, onces) = (Arc::clone(witness), Arc::clone(witness));
    let once = JobPolicy {
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let many = JobPolicy {
        crashes_max: 50,
        ..policy_with_backoff(&[2])
    };
    let build = || {
        let (tasks, onces) = (Arc::clone(&tasks), Arc::clone(&onces));
        Engine::over(Arc::new(store.clone()))
            .options(EngineOptions {
                concurrency: 7,
                seed: Some(seed),
                ..options()
            })
            .handle(
                move |task: Task, cx: Cx| work(Arc::clone(&tasks), task.n, cx, true),
                many.clone(),
            )
            .handle(
                move |once: Once, cx: Cx| work(Arc::clone(&onces), once.0, cx, false),
                once.clone(),
            )
    };
    loop {
        match build().start().await {
            Ok(engine) => return engine,
            Err(_) => tokio::time::sleep(s(1)).await,
        }
    }
}

/// Hands a job in until it is acknowledged, as a caller with a key may.
async fn acknowledged<J: Job>(client: &Client, job: J) -> JobId {
    loop {
        match client.enqueue_job(&job).await {
            Ok(job) => return job.id,
            Err(error) if error.is_transient() => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

struct Run {
    world: World,
    witness: Arc<Witness>,
    tasks: Vec<JobId>,
    onces: Vec<JobId>,
}

async fn run(seed: u64) -> Run {
    let world = World::new();
    let witness = Arc::new(Witness::default());
    let rates = FaultRates {
        before: 0.08,
        after: 0.08,
        delay: 0.04,
        late: 0.04,
        delay_max: s(15),
    };
    let stores: Vec<FaultyStore> = (0..3)
        .map(|n| FaultyStore::over(Arc::clone(&world.store), seed * 3 + n))
        .collect();
    for store in &stores {
        store.misbehave(rates);
    }
    let clock_right = || stores[2].next_right(Verb::DatabaseNow);
    clock_right();
    let outside: Arc<dyn Store> = Arc::new(stores[2].clone());
    let client = Client::connect(outside, Arc::new(Policies::new()), Arc::new(NoObserver))
        .await
        .unwrap();
    let mut engines = vec![
        node(stores[0].clone(), &witness, seed).await,
        node(stores[1].clone(), &witness, seed).await,
    ];
    let (mut tasks, mut onces) = (Vec::new(), Vec::new());
    for n in 0..40 {
        let key = Some(n.to_string());
        tasks.push(acknowledged(&client, Task { key, ..Task::n(n) }).await);
        onces.push(acknowledged(&client, Once(n)).await);
        tokio::time::sleep(ms(300)).await;
        if n == 15 {
            // One node crashes and comes back; the witness's guards end with its handlers.
            drop(engines.remove(0));
            tokio::time::sleep(ms(1)).await;
            engines.push(node(stores[0].clone(), &witness, seed + 1).await);
        }
    }
    tokio::time::sleep(s(120)).await;
    for store in &stores {
        store.misbehave(FaultRates::default());
    }
    for job in tasks.iter().chain(&onces) {
        world.settled(*job).await;
    }
    for engine in engines {
        assert_eq!(engine.drain().await, surefoot::Drained::default());
    }
    Run {
        world,
        witness,
        tasks,
        onces,
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_repeated_or_unrecorded_whatever_fails() {
    let mut unknown = 0;
    let mut starts = 0;
    for seed in 0..40 {
        let run = run(seed).await;
        assert_eq!(
            *run.witness.overlaps.lock().unwrap(),
            [],
            "two at once, seed {seed}"
        );
        let mut all = run.witness.starts.lock().unwrap().clone();
        starts += all.len();
        all.sort();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count, "an epoch was started twice, seed {seed}");

        for job in &run.tasks {
            let record = run.world.job(*job).await;
            assert_eq!(
                record.job.state.name(),
                StateName::Succeeded,
                "no-lost-intent, seed {seed}: {record:?}"
            );
        }
        for job in &run.onces {
            let record = run.world.job(*job).await;
            let starts = run.witness.starts_of(*job).len();
            assert!(
                starts <= 1,
                "no-double-effect: {starts} starts, seed {seed}: {record:?}"
            );
            match &record.job.state {
                JobState::Succeeded { .. } => {}
                JobState::Dead(death) => {
                    assert_eq!(
                        death.reason,
                        DeadReason::OutcomeUnknown,
                        "honest-unknown, seed {seed}"
                    );
                    unknown += 1;
                }
                other => panic!("seed {seed}: {other:?}"),
            }
        }
        for job in run.tasks.iter().chain(&run.onces) {
            let record = run.world.job(*job).await;
            let recorded: Vec<Epoch> = record
                .attempts
                .iter()
                .map(|attempt| attempt.epoch)
                .collect();
            for epoch in run.witness.starts_of(*job) {
                assert!(
                    recorded.contains(&epoch),
                    "every-attempt-logged, seed {seed}: {record:?}"
                );
            }
            assert!(
                record
                    .attempts
                    .iter()
                    .all(|attempt| attempt.outcome.is_some()),
                "seed {seed}: {record:?}"
            );
            let succeeded: Vec<Epoch> = record
                .attempts
                .iter()
                .filter(|attempt| attempt.outcome == Some(AttemptOutcome::Succeeded))
                .map(|attempt| attempt.epoch)
                .collect();
            if record.job.state.name() == StateName::Succeeded {
                assert_eq!(succeeded.len(), 1, "one-outcome, seed {seed}: {record:?}");
                let returned = &run.witness.returned.lock().unwrap()[job];
                assert!(returned.contains(&succeeded[0]), "seed {seed}: {record:?}");
            }
        }
    }
    assert!(starts > 40 * 80, "{starts}");
    println!("{starts} starts, {unknown} unknown outcomes of {}", 40 * 40);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_starts_at_once_and_is_no_crash() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let policy = JobPolicy {
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let engine = world.node().handle(run, policy).start().await.unwrap();
    tokio::time::sleep(ms(10)).await;
    faulty.next(Verb::Advance, Fault::After);
    let job = engine.enqueue(Task::n(5)).await.unwrap();
    tokio::time::sleep(ms(500)).await;
    assert_eq!(world.state(job.id).await, StateName::Succeeded);
    assert_eq!(
        world.outcomes(job.id).await,
        [Some(AttemptOutcome::Succeeded)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_settlement_whose_answer_was_lost_is_repeated_and_counts_once() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let starts = notes();
    let seen = Arc::clone(&starts);
    let run = move |task: Task, cx: Cx| {
        seen.add(cx.attempt());
        async move {
            tokio::time::sleep(s(1)).await;
            Ok(task.n)
        }
    };
    let engine = world.runs(run).await;
    let job = engine.enqueue(Task::n(5)).await.unwrap();
    tokio::time::sleep(ms(900)).await;
    for _ in 0..5 {
        faulty.next(Verb::Advance, Fault::After);
    }
    tokio::time::sleep(s(60)).await;
    assert_eq!(
        world.outcomes(job.id).await,
        [Some(AttemptOutcome::Succeeded)]
    );
    assert_eq!(starts.all(), [1]);
    assert_eq!(world.told.count("ended task succeeded succeeded"), 1);
    assert_eq!(world.told.count("stale write"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_given_up_and_work_goes_on() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    tokio::time::sleep(ms(10)).await;
    for verb in [
        Verb::Advance,
        Verb::Beat,
        Verb::Lapsed,
        Verb::Expire,
        Verb::Announce,
    ] {
        faulty.next(verb, Fault::Delay(s(1_000_000)));
    }
    let job = engine.enqueue(Task::n(5)).await.unwrap();
    tokio::time::sleep(s(12)).await;
    assert_eq!(world.state(job.id).await, StateName::Succeeded);
    tokio::time::sleep(s(30)).await;
    assert!(engine.health().is_ready(), "{:?}", engine.health());
    assert!(faulty.counts(Verb::Lapsed).calls > 3, "the sweep goes on");
    assert!(
        world.told.lines().contains(
            &"store error advance the database did not answer: no answer within 10s".to_owned()
        ),
        "{:?}",
        world.told.lines()
    );
}

#[tokio::test(start_paused = true)]
async fn after_ten_minutes_without_a_database_work_goes_on_within_seconds() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let direct = world.client(Policies::new()).await;
    let world = World::over(Arc::new(faulty.clone()));
    let run = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(5)).await;
        Ok(task.n)
    };
    let engine = world.runs(run).await;
    let during = engine.enqueue(Task::n(1)).await.unwrap();
    tokio::time::sleep(s(1)).await;
    faulty.misbehave(FaultRates {
        before: 1.0,
        ..FaultRates::default()
    });
    let calls_before = faulty.counts(Verb::Advance).calls;
    tokio::time::sleep(s(600)).await;
    let calls = faulty.counts(Verb::Advance).calls - calls_before;
    assert!((100..1000).contains(&calls), "{calls} calls in ten minutes");
    assert!(
        !engine.health().is_ready(),
        "a node without its database says so"
    );
    faulty.misbehave(FaultRates::default());
    let after = direct.enqueue_job(&Task::n(2)).await.unwrap();
    tokio::time::sleep(s(10)).await;
    assert_eq!(world.state(after.id).await, StateName::Succeeded);
    assert_eq!(world.state(during.id).await, StateName::Succeeded);
    assert_eq!(
        world.outcomes(during.id).await,
        [Some(AttemptOutcome::Succeeded)],
        "what ended during the outage was kept and written down"
    );
    assert!(engine.health().is_ready());
}

#[tokio::test(start_paused = true)]
async fn an_enqueue_whose_answer_was_lost_is_one_job() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let client = world.client(Policies::new()).await;
    faulty.next(Verb::Enqueue, Fault::After);
    faulty.next(Verb::Enqueue, Fault::After);
    let job = client.enqueue_job(&Task::n(1)).await.unwrap();
    assert!(job.created);
    assert_eq!(
        client
            .jobs(&Default::default(), None, 10)
            .await
            .unwrap()
            .len(),
        1
    );
    for _ in 0..3 {
        faulty.next(Verb::Enqueue, Fault::Before);
    }
    let error = client.enqueue_job(&Task::n(2)).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert_eq!(faulty.counts(Verb::Enqueue).calls, 6);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ended_by_its_own_settlement_was_not_lost() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let run = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(1)).await;
        Ok(task.n)
    };
    let seldom = EngineOptions {
        poll: s(60),
        ..options()
    };
    let engine = world.runs_with(seldom, run).await;
    let job = engine.enqueue(Task::n(5)).await.unwrap();
    tokio::time::sleep(ms(900)).await;
    // The settlement is committed, and its answer comes after the next heartbeat.
    faulty.next(Verb::Advance, Fault::Late(s(8)));
    tokio::time::sleep(s(20)).await;
    assert_eq!(world.state(job.id).await, StateName::Succeeded);
    assert_eq!(faulty.counts(Verb::Advance).delayed, 1);
    assert_eq!(
        world.told.count("lease lost"),
        0,
        "{:?}",
        world.told.lines()
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_came_late_is_extended_before_it_starts() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let policy = JobPolicy {
        timeout: s(10),
        lease: s(12),
        ..JobPolicy::default()
    };
    let engine = world.node().handle(run, policy).start().await.unwrap();
    tokio::time::sleep(ms(10)).await;
    faulty.next(Verb::Advance, Fault::Late(s(9)));
    let job = engine.enqueue(Task::n(1)).await.unwrap();
    tokio::time::sleep(s(10)).await;
    assert_eq!(world.state(job.id).await, StateName::Succeeded);
    assert_eq!(faulty.counts(Verb::Extend).calls, 1);
}

#[tokio::test(start_paused = true)]
async fn the_nodes_clock_follows_the_stores() {
    let world = World::new();
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000_000)));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::<ManualClock>::clone(&clock)));
    let faulty = FaultyStore::over(store, 1);
    let world = World {
        store: Arc::new(faulty.clone()),
        ..world
    };
    let engine = world.node().start().await.unwrap();
    tokio::time::sleep(s(1)).await;
    clock.advance(s(7200));
    tokio::time::sleep(s(20)).await;
    let hours_later = Timestamp::from_micros(1_000_000_000).after(s(7200));
    let ahead = engine.client().now().since(hours_later);
    assert!(ahead < s(20), "{ahead:?}");
    assert!(engine.client().now() >= hours_later);

    // A slow answer says too little.
    clock.advance(s(3600));
    for _ in 0..4 {
        faulty.next(Verb::Beat, Fault::Late(s(5)));
    }
    tokio::time::sleep(s(40)).await;
    assert!(engine.client().now() < hours_later.after(s(3600)));
}

#[tokio::test(start_paused = true)]
async fn a_connection_of_the_heartbeat_that_failed_is_made_again() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let engine = world.node().start().await.unwrap();
    tokio::time::sleep(s(1)).await;
    faulty.next(Verb::Beat, Fault::Before);
    faulty.next(Verb::Heart, Fault::Before);
    tokio::time::sleep(s(60)).await;
    assert_eq!(faulty.counts(Verb::Heart).calls, 3);
    assert!(engine.health().is_ready());
}

#[tokio::test(start_paused = true)]
async fn announcements_are_listened_to_again_after_they_broke_off() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let nodes = World::over(Arc::new(faulty.clone()));
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let seldom = EngineOptions {
        poll: s(3600),
        ..options()
    };
    for _ in 0..3 {
        faulty.next(Verb::Announcements, Fault::Before);
    }
    let _engine = nodes
        .node()
        .options(seldom)
        .handle(run, JobPolicy::default())
        .start()
        .await
        .unwrap();
    let elsewhere = world.client(Policies::new()).await;
    // Handed in while nobody listens: found when somebody listens again, not an hour later.
    tokio::time::sleep(ms(5)).await;
    let missed = elsewhere.enqueue_job(&Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(5)).await;
    assert_eq!(world.state(missed).await, StateName::Succeeded);
    assert!(faulty.counts(Verb::Announcements).calls >= 4);
    // A connection that is silently gone is renewed.
    tokio::time::sleep(s(1000)).await;
    assert!(faulty.counts(Verb::Announcements).calls >= 6);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_stops_nothing() {
    struct Bad;
    impl Observer for Bad {
        fn on(&self, event: &surefoot::Event<'_>) {
            panic!("cannot count {event:?}");
        }

        fn attempt_span(&self, _: &surefoot::core::job::LeasedJob) -> tracing::Span {
            panic!("no span");
        }
    }
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world
        .node()
        .observer(Arc::new(Bad))
        .handle(run, JobPolicy::default())
        .start()
        .await
        .unwrap();
    for n in 0..3 {
        let job = engine.enqueue(Task::n(n)).await.unwrap();
        assert_eq!(engine.result(job).await.unwrap(), n);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_handed_in_here_starts_at_once_though_nothing_is_announced() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    tokio::time::sleep(s(10)).await;
    faulty.next(Verb::Announce, Fault::Before);
    let job = engine.enqueue(Task::n(1)).await.unwrap();
    tokio::time::sleep(ms(1)).await;
    assert_eq!(world.state(job.id).await, StateName::Succeeded);
    assert_eq!(faulty.counts(Verb::Announce).before, 1);
}

#[tokio::test(start_paused = true)]
async fn announcements_are_gathered_and_none_is_left_out() {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    let world = World::over(Arc::new(faulty.clone()));
    let client = world.client(Policies::new()).await;
    for n in 0..100 {
        client.enqueue_job(&Task::n(n)).await.unwrap();
        tokio::time::sleep(ms(1)).await;
    }
    client.flush().await;
    let calls = faulty.counts(Verb::Announce).calls;
    assert!((10..=30).contains(&calls), "{calls} in 100 ms");
    client.flush().await;
    assert_eq!(
        faulty.counts(Verb::Announce).calls,
        calls,
        "nothing was left"
    );
}
