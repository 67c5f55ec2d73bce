//! What fires, what it is called, and what it does to a handler.

use std::sync::Arc;

use surefoot::core::id::{Actor, Key, Kind, Queue};
use surefoot::core::job::{AttemptOutcome, DeadReason, StateName};
use surefoot::core::payload::Payload;
use surefoot::core::port::{By, Enqueued};
use surefoot::core::timeouts::TimeoutKind;
use surefoot::{CancelCause, Cx, Error, Failure, Intent, JobPolicy, Recovery};
use tokio::time::Instant;

use crate::world::{Task, World, ms, notes, policy_with_backoff, s};

/// Notes when it is dropped.
struct Dropped(Arc<crate::world::Notes<Instant>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add(Instant::now());
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_is_told_then_dropped_then_retried() {
    let world = World::new();
    let (told, dropped) = (notes(), notes());
    let (t, d) = (Arc::clone(&told), Arc::clone(&dropped));
    let run = move |_: Task, cx: Cx| {
        let (told, held) = (Arc::clone(&t), Dropped(Arc::clone(&d)));
        async move {
            let _held = held;
            if cx.attempt() == 2 {
                return Ok(2);
            }
            told.add((cx.cancelled().await, Instant::now()));
            std::future::pending().await
        }
    };
    let engine = world
        .node()
        .handle(run, policy_with_backoff(&[10]))
        .start()
        .await
        .unwrap();
    let start = Instant::now();
    let job = engine.enqueue(Task::n(1)).await.unwrap();
    assert_eq!(engine.result(job).await.unwrap(), 2);
    let (cause, at) = told.all()[0];
    assert_eq!(cause, CancelCause::TimedOut(TimeoutKind::Job));
    assert!(
        at - start >= s(30) && at - start < s(30) + ms(50),
        "{:?}",
        at - start
    );
    let gone = dropped.all()[0] - at;
    assert!(gone >= s(1) && gone < s(1) + ms(50), "{gone:?}");
    assert_eq!(
        world.outcomes(job.id).await,
        [
            Some(AttemptOutcome::TimedOut),
            Some(AttemptOutcome::Succeeded)
        ]
    );
    assert!(world.gaps(job.id).await[0] >= s(10));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_ends_within_the_grace_keeps_its_own_word() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        cx.cancelled().await;
        match task.n {
            0 => Ok(7),
            1 => Err(Failure::permanent("gave up")),
            _ => Err(Failure::cancelled("stopped")),
        }
    };
    let policy = JobPolicy {
        attempts_max: 1,
        ..JobPolicy::default()
    };
    let engine = world.node().handle(run, policy).start().await.unwrap();
    for (n, outcome) in [
        (0, AttemptOutcome::Succeeded),
        (1, AttemptOutcome::Permanent),
        (2, AttemptOutcome::TimedOut),
    ] {
        let job = engine.enqueue(Task::n(n)).await.unwrap().id;
        world.settled(job).await;
        assert_eq!(world.outcomes(job).await, [Some(outcome)], "{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_out_under_at_most_once_is_an_unknown_outcome() {
    let world = World::new();
    let hang = |_: Task, _: Cx| std::future::pending();
    let policy = JobPolicy {
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let engine = world.node().handle(hang, policy).start().await.unwrap();
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    world.settled(job).await;
    assert_eq!(world.death(job).await.reason, DeadReason::OutcomeUnknown);
    assert_eq!(world.outcomes(job).await, [Some(AttemptOutcome::TimedOut)]);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_running_attempt_under_its_own_name() {
    let world = World::new();
    let causes = notes();
    let seen = Arc::clone(&causes);
    let run = move |_: Task, cx: Cx| {
        let causes = Arc::clone(&seen);
        async move {
            assert!(cx.time_left() <= s(10), "{:?}", cx.time_left());
            causes.add(cx.cancelled().await);
            std::future::pending().await
        }
    };
    let engine = world.runs(run).await;
    let deadline_at = Some(engine.client().now().after(s(10)));
    let intent = Intent {
        deadline_at,
        ..Intent::of(&Task::n(1)).unwrap()
    };
    let job = engine.enqueue_intent(intent).await.unwrap().job();
    world.settled(job).await;
    assert_eq!(world.death(job).await.reason, DeadReason::Deadline);
    assert_eq!(causes.all(), [CancelCause::TimedOut(TimeoutKind::Deadline)]);
}

#[tokio::test(start_paused = true)]
async fn no_retry_is_planned_beyond_the_deadline() {
    let world = World::new();
    let run =
        |_: Task, _: Cx| async { Err::<u32, _>(Failure::retry_after(s(3600), "come back later")) };
    let policy = JobPolicy {
        deadline: Some(s(300)),
        ..JobPolicy::default()
    };
    let engine = world.node().handle(run, policy).start().await.unwrap();
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    tokio::time::sleep(s(2)).await;
    assert_eq!(
        world.death(job).await.reason,
        DeadReason::Deadline,
        "at once, not after an hour"
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_deadline_passes_while_it_waits_is_a_dead_letter() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    let now = engine.client().now();
    let by = By {
        actor: Actor::new("ann").unwrap(),
        reason: "the provider is down".into(),
    };
    engine
        .client()
        .pause(&Queue::standard(), &by)
        .await
        .unwrap();
    let intent = Intent {
        deadline_at: Some(now.after(s(50))),
        ..Intent::of(&Task::n(1)).unwrap()
    };
    let job = engine.enqueue_intent(intent).await.unwrap().job();
    tokio::time::sleep(s(49)).await;
    assert_eq!(world.state(job).await, StateName::Pending);
    tokio::time::sleep(s(9)).await;
    assert_eq!(world.death(job).await.reason, DeadReason::Deadline);
    assert_eq!(world.told.count("dead deadline"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_could_never_run_is_refused_at_every_door_but_a_repetition_is_answered() {
    let world = World::new();
    let policy = JobPolicy {
        deadline: Some(s(60)),
        ..JobPolicy::default()
    };
    let kind = Kind::new("picky").unwrap();
    let node = world.node().declare(kind.clone(), policy);
    let engine = node.start().await.unwrap();
    let client = engine.client();
    let now = client.now();
    let intent = |run_at: Option<u64>, deadline_at: Option<u64>| Intent {
        key: Some(Key::new("1").unwrap()),
        run_at: run_at.map(|at| now.after(s(at))),
        deadline_at: deadline_at.map(|at| now.after(s(at))),
        ..Intent::new(kind.clone(), Payload::null())
    };
    for late in [
        intent(Some(10), Some(10)),
        intent(Some(10), Some(9)),
        intent(Some(60), None),
    ] {
        let refused = client.enqueue(late).await.unwrap_err();
        assert!(matches!(refused, Error::DueTooLate), "{refused}");
    }
    let refused = client.enqueue(intent(None, Some(0))).await.unwrap_err();
    assert!(matches!(refused, Error::DeadlinePassed), "{refused}");

    let soon = intent(None, Some(1));
    let job = client.enqueue(soon.clone()).await.unwrap().job();
    tokio::time::sleep(s(2)).await;
    assert_eq!(client.enqueue(soon).await.unwrap(), Enqueued::Existing(job));
}
